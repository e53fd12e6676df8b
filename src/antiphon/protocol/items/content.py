"""The building blocks of items: their common base, their content parts, and shared values.

One type serves both directions, because output items must be accepted as input. A field that is
`UNSET` is absent on the wire. `null` is accepted wherever an SDK dumps an absent field as null.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from antiphon.protocol.objects import ApiObject

Status = Literal["in_progress", "completed", "incomplete"]
Role = Literal["assistant", "system", "developer", "user"]
Phase = Literal["commentary", "final_answer"]

Text = Annotated[str, Meta(max_length=10_485_760)]
"""A text of at most 10,485,760 characters (specification section 2)."""

ItemId = Annotated[
    str, Meta(max_length=512, pattern=r"^[^\x00]*$(?!\n)", title="an ID without the character NUL")
]
"""An item's id, created by the server or by a client with the right prefix."""

MAX_CALL_ID = 64
"""Characters of a call id (specification section 5)."""

SEALED_CALL = "call_sealed_"
"""The prefix of call ids of this server that contain a sealed signature, and are longer."""

LONGEST_SEALED = 24_576
"""Characters of such an id after its prefix."""

CallId = Annotated[
    str,
    Meta(
        min_length=1,
        pattern=rf"^(?:[\s\S]{{1,{MAX_CALL_ID}}}|{SEALED_CALL}[A-Za-z0-9_-]{{1,"
        rf"{LONGEST_SEALED}}})$(?!\n)",
        extra={"max_length": MAX_CALL_ID},
    ),
]
"""Connects a call with its output."""

Caller = dict[str, Any] | UnsetType | None
"""The caller: `{type: "direct"}`, or `{type: "program", caller_id}`. Returned unchanged."""

CreatedBy = str | UnsetType | None
"""Who created a stored item; read and returned unchanged."""

Unsupported = UnsetType | None
"""A field of the API that this server does not support: null is accepted, a value is rejected by
name.
"""


class Part(ApiObject, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """One part of a message's, a tool output's or a reasoning item's content."""

    @property
    def type(self) -> str:
        """The type's name, such as `output_text`."""
        return str(self.__struct_config__.tag)


class Inbound(Part, kw_only=True):
    """Input for the model. The SDK dumps it as if it came from the model, with these fields
    null.
    """

    annotations: Unsupported = UNSET
    logprobs: Unsupported = UNSET


class InputText(Inbound, kw_only=True, tag="input_text"):
    """Text for the model."""

    text: Text
    prompt_cache_breakpoint: dict[str, Any] | UnsetType | None = UNSET


class InputImage(Inbound, kw_only=True, tag="input_image"):
    """An image for the model: a URL or a `data:` URL."""

    text: Unsupported = UNSET
    image_url: str | UnsetType | None = UNSET
    file_id: str | UnsetType | None = UNSET
    detail: Literal["low", "high", "auto", "original"] | UnsetType | None = UNSET
    prompt_cache_breakpoint: dict[str, Any] | UnsetType | None = UNSET


class InputFile(Inbound, kw_only=True, tag="input_file"):
    """A file for the model: base64 `file_data` (bare, or as a `data:` URL) with its name, or a
    URL.
    """

    text: Unsupported = UNSET
    file_data: str | UnsetType | None = UNSET
    filename: Annotated[str, Meta(max_length=1024)] | UnsetType | None = UNSET
    file_url: str | UnsetType | None = UNSET
    file_id: str | UnsetType | None = UNSET
    detail: Literal["low", "high", "auto"] | UnsetType | None = UNSET
    prompt_cache_breakpoint: dict[str, Any] | UnsetType | None = UNSET


class OutputText(Part, kw_only=True, tag="output_text"):
    """Text from the model, with its annotations and token log probabilities.

    `parsed` is what the SDK's parse helpers add to a dump; it is read and dropped.
    """

    text: Text
    annotations: list[dict[str, Any]] | None = field(default_factory=list)
    logprobs: list[dict[str, Any]] | None = field(default_factory=list)
    parsed: Any = UNSET


class Refusal(Part, kw_only=True, tag="refusal"):
    """The model's text when it refused to answer."""

    refusal: Text


class SummaryText(Part, kw_only=True, tag="summary_text"):
    """A part of a reasoning item's summary."""

    text: Text


class ReasoningText(Part, kw_only=True, tag="reasoning_text"):
    """Reasoning as the model wrote it."""

    text: Text


InputPart = InputText | InputImage | InputFile
OutputPart = OutputText | Refusal
ContentPart = InputText | InputImage | InputFile | OutputText | Refusal

InputParts = Annotated[list[InputPart], Meta(max_length=10_000)]
"""At most 10,000 parts, as many as a request can have items: parts cost as much as items do."""

ContentParts = Annotated[list[ContentPart], Meta(max_length=10_000)]
"""The same number of parts."""


class Item(ApiObject, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """An item of a response's input and output.

    `internal_chat_message_metadata_passthrough` is Codex's own note to OpenAI; it is read and
    dropped.
    """

    id: ItemId | UnsetType | None = UNSET
    internal_chat_message_metadata_passthrough: Any = UNSET

    @property
    def type(self) -> str:
        """The type's name, such as `function_call`."""
        return str(self.__struct_config__.tag)
