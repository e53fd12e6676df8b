"""The parameters of the API as keyword arguments: a type checker rejects a name, or a type, that
the API does not have.

`protocol/requests.py` has the rules; a test compares the names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from antiphon.protocol.items.content import Item
from antiphon.protocol.objects import UnknownItem
from antiphon.protocol.requests import Include, ServiceTier

Input = str | Sequence[Mapping[str, Any] | Item | UnknownItem]
"""A text, or items: dictionaries as the API has them, or items of an earlier response."""


class CallOptions(TypedDict, total=False):
    """Options of every call, besides the parameters of the API.

    - `extra_headers` are headers of the request, such as `Idempotency-Key`: they have the effect
      that they have over HTTP.
    - `timeout` is in seconds, by default without limit. It limits the whole call; of a stream, each
      wait for its next events. Raises `APITimeoutError` after it.
    """

    extra_headers: Mapping[str, str] | None
    timeout: float | None


OPTION_NAMES = frozenset({"extra_headers", "timeout"})
"""The names of `CallOptions`."""


class ContextParameters(CallOptions, total=False):
    """What a response and a count of its input have in common."""

    model: str
    """Required, unless a `prompt` names it."""
    input: Input | None
    prompt: Mapping[str, Any] | None
    instructions: str | None
    previous_response_id: str | None
    conversation: str | Mapping[str, Any] | None
    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: str | Mapping[str, Any] | None
    parallel_tool_calls: bool | None
    reasoning: Mapping[str, Any] | None
    text: Mapping[str, Any] | None
    truncation: Literal["auto", "disabled"] | None


class CountParameters(ContextParameters, total=False):
    """Parameters of `responses.input_tokens.count`."""

    personality: str | None


class ResponseParameters(ContextParameters, total=False):
    """Parameters of `responses.create` and `responses.stream`.

    `extra_body` holds parameters that the API does not have, such as `top_k`: they are forwarded to
    a backend that accepts them.
    """

    include: Sequence[Include] | None
    metadata: Mapping[str, str] | None
    temperature: float | None
    top_p: float | None
    presence_penalty: float | None
    frequency_penalty: float | None
    stream_options: Mapping[str, Any] | None
    background: bool | None
    background_options: Mapping[str, Any] | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    user: str | None
    safety_identifier: str | None
    prompt_cache_key: str | None
    prompt_cache_options: Mapping[str, Any] | None
    prompt_cache_retention: Literal["in_memory", "in-memory", "24h"] | None
    store: bool | None
    service_tier: ServiceTier | None
    top_logprobs: int | None
    context_management: Sequence[Mapping[str, Any]] | None
    client_metadata: Mapping[str, Any] | None
    antiphon: Mapping[str, Any] | None
    extra_body: Mapping[str, Any] | None


class CompactParameters(CallOptions, total=False):
    """Parameters of `responses.compact`."""

    model: Required[str]
    input: Input | None
    instructions: str | None
    previous_response_id: str | None
    prompt_cache_key: str | None
    prompt_cache_options: Mapping[str, Any] | None
    prompt_cache_retention: Literal["in_memory", "in-memory", "24h"] | None
    service_tier: ServiceTier | None


class PageParameters(CallOptions, total=False):
    """Parameters of a list of items: a page of at most `limit` items (1 to 100, by default 20)
    after an item.
    """

    after: str | None
    limit: int | None
    order: Literal["asc", "desc"] | None
    include: Sequence[Include] | None


class InputPageParameters(PageParameters, total=False):
    """Parameters of the list of a response's input items."""

    before: str | None


def without_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the API among those of a call."""
    return {name: value for name, value in parameters.items() if name not in OPTION_NAMES}


def as_query(parameters: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return parameters as the query of a URL, without the absent ones."""
    return {
        name: [_text(value)] if isinstance(value, str | int) else [str(one) for one in value]
        for name, value in parameters.items()
        if value is not None
    }


def _text(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_extra(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the API, and those of `extra_body`, which only a backend has."""
    named = {
        name: value
        for name, value in parameters.items()
        if name != "extra_body" and name not in OPTION_NAMES
    }
    return {**named, **(parameters.get("extra_body") or {})}


def following(after: str | None) -> dict[str, str]:
    """Return the parameter for the page after an object, which replaces the one of the request."""
    return {} if after is None else {"after": after}
