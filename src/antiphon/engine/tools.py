"""Tools that the model is not offered, since only a server could run them."""

from collections.abc import Collection, Sequence

from antiphon.errors import ClientError, log
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import Tool
from antiphon.translation.dialects import Api
from antiphon.translation.tool_mapping.offering import left_out

IGNORED = "antiphon-ignored-tools"
"""The header that tells the types of tools which the model was not offered; another Antiphon behind this one has it."""

_told: set[str] = set()


def look_at_tools(
    request: CreateResponse, items: Sequence[InputItem], api: Api, served: Collection[type[Tool]], *, refuses: bool
) -> list[str]:
    """Return the types of tools that are left out, not being `served`; the log has a line for each, once.

    A backend that is asked by Responses, its `api`, is given every tool: what it does not run, it refuses itself.

    Raises `ClientError` (400) for the first of them where this server `refuses` such tools.
    """
    types = left_out(request, items, served) if api == "chat" else []
    if types and refuses:
        raise ClientError(
            f"Unsupported tool: this server does not run tools of type '{types[0]}'.",
            code="unsupported_value",
            param="tools",
        )
    new = [each for each in types if each not in _told]
    if new:
        _told.update(new)
        log.warning("Tools that this server does not run are left out of what the model sees: %s", ", ".join(new))
    return types


def plain_types(header: str) -> list[str]:
    """Return the types that a backend's header tells; what is none is left out, for it goes on to the client."""
    return [name for name in header.split(", ") if name.isascii() and name.isidentifier()]
