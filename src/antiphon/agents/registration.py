"""Registers a handler as an agent."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from msgspec import Struct

from antiphon.agents.context import AgentContext, JsonValue
from antiphon.protocol.requests import CreateResponse

Answer = str | JsonValue | Struct | None
"""A text becomes a message, any other value its JSON; with None, what was emitted is the answer."""

Handler = Callable[[AgentContext], Awaitable[Any]]

LONGEST_NAME = 128
LONGEST_VERSION = 64


class Agent(Struct, frozen=True):
    """A handler with the name under which clients call it."""

    name: str
    handler: Handler
    version: str = "1"
    timeout: float = 3600
    """Seconds for all attempts of a response together."""
    description: str = ""
    accepts: Sequence[str] = ()
    """Parameters of a request that it reads, besides those that every agent accepts."""
    pinned: bool = False
    """Whether only workers with the version that began a response continue it."""


def agent(
    name: str,
    *,
    version: str = "1",
    timeout: float = 3600,
    description: str = "",
    accepts: Collection[str] = (),
    pinned: bool = False,
) -> Callable[[Handler], Agent]:
    """Register a coroutine function as an agent: clients call it as the model `name`.

    A request with a parameter that no agent accepts is rejected, unless the parameter is among
    those that it `accepts`; the handler finds them in `AgentContext.request`.

    If a worker dies or stops, one with another `version` can continue its responses in the
    background; with `pinned`, only one with the same version. A response waits for that for the
    setting `agent_pin_wait`, and then fails (`agent_version_gone`).

    Raises `ValueError` for a name that no model can have, for a version that is empty or longer
    than 64 visible characters, for a timeout that is not positive, and
    for a parameter that no request has; the decorator raises `TypeError` for what is not a
    coroutine function with one parameter.
    """
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()):
        raise ValueError(
            f"The name of an agent has 1 to {LONGEST_NAME} visible characters, unlike {name!r}."
        )
    if not (0 < len(version) <= LONGEST_VERSION and version.isprintable()):
        raise ValueError(
            f"The version of the agent {name!r} has 1 to {LONGEST_VERSION} visible characters, "
            f"unlike {version!r}."
        )
    if not timeout > 0:
        raise ValueError(f"The timeout of the agent {name!r} is {timeout}; it must be positive.")
    if unknown := sorted({*accepts}.difference(CreateResponse.__struct_fields__)):
        raise ValueError(f"No request has the parameter {unknown[0]!r}.")

    def register(handler: Handler) -> Agent:
        if not inspect.iscoroutinefunction(handler) or not _takes_one(handler):
            raise TypeError(
                f"The handler of the agent {name!r} must be an async function with one parameter, "
                "the AgentContext."
            )
        return Agent(name, handler, version, timeout, description, sorted(accepts), pinned)

    return register


def _takes_one(handler: Handler) -> bool:
    try:
        inspect.signature(handler).bind(object())
    except TypeError:
        return False
    return True
