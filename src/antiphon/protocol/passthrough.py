"""Bodies of the endpoints that are forwarded to the backend, as far as they are the same at every
backend.

Only the types and the ranges that the API documents are fixed. Other parameters pass unchanged:
backends have their own.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from antiphon.protocol.requests import Metadata, ModelName


class ChatMessage(Struct, kw_only=True):
    """One message of a chat; its other fields are left to the backend."""

    role: str
    content: str | list[dict[str, Any]] | None = None


class ChatStreamOptions(Struct, kw_only=True):
    """`include_usage` requests a last chunk with the tokens used."""

    include_usage: bool | None = None


class ChatCompletionRequest(Struct, kw_only=True):
    """The body of `POST /chat/completions`.

    `max_tokens` can be -1: LM Studio and llama.cpp read it as no limit.
    """

    model: ModelName
    messages: Annotated[list[ChatMessage], Meta(min_length=1, max_length=100_000)]
    stream: bool | None = None
    store: bool | None = None
    stream_options: ChatStreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None = None
    n: Annotated[int, Meta(ge=1, le=128)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    stop: str | list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None


class StoredChatRequest(Struct, kw_only=True):
    """Further fields of `POST /chat/completions` with `store: true`."""

    metadata: Metadata | None = None


class EmbeddingsRequest(Struct, kw_only=True):
    """The body of `POST /embeddings`. `input` is a text, a list of texts, or tokens."""

    model: ModelName
    input: str | Annotated[list[Any], Meta(min_length=1, max_length=100_000)]
    encoding_format: str | None = None
    dimensions: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    user: str | None = None


class ImagesRequest(Struct, kw_only=True):
    """The body of `POST /images/generations` and `POST /images/edits`, as JSON."""

    prompt: Annotated[str, Meta(min_length=1, max_length=32_000)]
    model: ModelName | None = None
    n: Annotated[int, Meta(ge=1, le=10)] | None = None
    stream: bool | None = None
    partial_images: Annotated[int, Meta(ge=0, le=3)] | None = None
    images: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=16)] | None = None


class ImagesForm(Struct, kw_only=True):
    """The same as a form: each field is a text."""

    prompt: Annotated[str, Meta(min_length=1, max_length=32_000)]
    model: ModelName | None = None
