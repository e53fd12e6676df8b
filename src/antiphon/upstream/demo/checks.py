"""The chat requests that `demo` rejects: those that OpenAI's server rejects for every model."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from antiphon.errors import ClientError
from antiphon.protocol.passthrough import ChatCompletionRequest
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.validate import fit

NAME = "demo"

Fields = dict[str, Any]
"""A JSON object, such as a request, a message or a delta."""

_Url = Annotated[str, Meta(pattern=r"^(data:|https?://)", title="a data URL or an http(s) URL")]


class _Image(Struct):
    url: _Url


class _Part(Struct):
    type: Literal["text", "refusal", "image_url", "input_audio", "file"]
    text: str = ""
    image_url: _Image | _Url | None = None  # some clients send the bare URL


class _Call(Struct):
    id: str


class _Message(Struct):
    role: Literal["developer", "system", "user", "assistant", "tool", "function"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Function(Struct):
    name: str
    parameters: Fields | None = None


class _Tool(Struct):
    type: Literal["function"]
    function: _Function


class _Format(Struct):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: Fields | None = None


class _Chat(Struct):
    messages: list[_Message]
    tools: list[_Tool] | None = None
    tool_choice: Literal["none", "auto", "required"] | Fields | None = None
    response_format: _Format | None = None


def check(request: Fields) -> None:
    """Raise `ClientError` for the first invalid field of a request."""
    model = fit(request, ChatCompletionRequest).model
    chat = fit(request, _Chat)
    if model != NAME:
        text = f"The model '{model[:100]}' does not exist; the only model here is '{NAME}'."
        raise ClientError(text, status=404, code="model_not_found", param="model")
    if request.get("n") not in (None, 1):
        raise refusals.invalid("n", "demo returns one choice.", "unsupported_value")
    if chat.tool_choice not in (None, "none") and not chat.tools:
        raise refusals.missing("tools")
    if (
        chat.response_format
        and chat.response_format.type == "json_schema"
        and chat.response_format.json_schema is None
    ):
        raise refusals.missing("response_format.json_schema")
    called: set[str | None] = set()
    for place, message in enumerate(chat.messages):
        if message.content is None and message.role not in ("assistant", "function"):
            raise refusals.missing(f"messages[{place}].content")
        if message.role == "tool" and message.tool_call_id not in called:
            raise refusals.invalid(
                f"messages[{place}].tool_call_id", "no earlier message has a tool call of this id."
            )
        called.update(call.id for call in message.tool_calls or ())
