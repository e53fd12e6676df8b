"""What clients send to have input counted: the body of `POST /responses/input_tokens` (specification section 1)."""

from typing import Annotated

import msgspec
from msgspec import Meta

from antiphon.protocol.requests import CreateResponse

COUNTED = frozenset(
    {"model", "input", "tools", "tool_choice", "text", "parallel_tool_calls", "reasoning", "truncation"}
    | {"instructions", "previous_response_id", "conversation"}
)
"""The fields of `CreateResponse` that it takes, in the same shapes."""

Personality = Annotated[str, Meta(max_length=64)]
"""`friendly`, `pragmatic` or any other. A Chat backend hears nothing of it, so it changes no count."""

CountInputTokens = msgspec.defstruct(
    "CountInputTokens",
    [
        *(
            (field.name, field.type, field.default) if not field.required else (field.name, field.type)
            for field in msgspec.structs.fields(CreateResponse)
            if field.name in COUNTED
        ),
        ("personality", Personality | None, None),
    ],
    module=__name__,
    kw_only=True,
    forbid_unknown_fields=True,
    namespace={"__doc__": "The body of `POST /responses/input_tokens`."},
)
