"""Prompts (specification of hosted tools, section 9): templates of requests, of `/v1/prompts` and
of the settings.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from antiphon.protocol.items.content import Text
from antiphon.protocol.items.messages import Message
from antiphon.protocol.requests import CreateResponse, ModelName

DEFAULTED = frozenset(
    {
        "include",
        "tools",
        "tool_choice",
        "metadata",
        "text",
        "temperature",
        "top_p",
        "presence_penalty",
    }
    | {
        "frequency_penalty",
        "parallel_tool_calls",
        "max_output_tokens",
        "max_tool_calls",
        "reasoning",
        "truncation",
    }
    | {"service_tier", "top_logprobs", "context_management"}
)
"""The fields of `CreateResponse` for which a prompt can have defaults, with the same types."""

if TYPE_CHECKING:
    Defaults = CreateResponse
else:
    Defaults = msgspec.defstruct(
        "Defaults",
        [
            (one.name, one.type, one.default)
            for one in msgspec.structs.fields(CreateResponse)
            if one.name in DEFAULTED
        ],
        module=__name__,
        kw_only=True,
        forbid_unknown_fields=True,
        omit_defaults=True,
        namespace={
            "__doc__": "Parameters of a request; a prompt's values apply if the request has none."
        },
    )

PromptName = Annotated[str, Meta(max_length=256)]


class PromptTemplate(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body of `POST /prompts`, and a version as it is stored: texts with placeholders such as
    `{{name}}`.

    `messages` precede the conversation of a request, and are not part of later ones.
    """

    name: PromptName | None = None
    instructions: Text | None = None
    messages: Annotated[list[Message], Meta(max_length=100, title="array of messages")] | None = (
        None
    )
    model: ModelName | None = None
    defaults: Defaults | None = None


class NewPromptVersion(
    PromptTemplate, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The body of `POST /prompts/{id}`: the next version, which keeps the prompt's `name` unless it
    has one.
    """

    set_as_default: bool = True


class SetDefaultVersion(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /prompts/{id}/default_version`."""

    version: Annotated[int, Meta(ge=1)] | Annotated[str, Meta(max_length=9)]


class PromptQuery(Struct, kw_only=True):
    """`GET /prompts/{id}`: a version, the default one if none is named."""

    version: Annotated[str, Meta(max_length=64)] | None = None


class PromptsQuery(Struct, kw_only=True):
    """`GET /prompts` and `GET /prompts/{id}/versions`; for versions, `after` is a version
    number.
    """

    after: Annotated[str, Meta(max_length=512)] | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "desc"


def defaults_of(template: PromptTemplate) -> dict[str, Any]:
    """Return the parameters with defaults in a prompt, as in a request."""
    if template.defaults is None:
        return {}
    return {
        name: value for name in DEFAULTED if (value := getattr(template.defaults, name)) is not None
    }
