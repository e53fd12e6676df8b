"""The parameters of a URL's query as typed data, or the one error that describes the problem."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.requests import Include
from antiphon.protocol.resources import (
    CompletionMessagesQuery,
    CompletionsQuery,
    EndpointsQuery,
    InputItemsQuery,
    ResponsesQuery,
    RetrieveQuery,
    StreamQuery,
    UsageQuery,
)
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.validate import fit

T = TypeVar("T", bound=Struct)

_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_METADATA = re.compile(r"metadata\[(.*)\]", re.DOTALL)


def decode_input_items_query(params: Mapping[str, Sequence[str]]) -> InputItemsQuery:
    """Return the query of `GET /responses/{id}/input_items`; if a name appears twice, the last
    value counts.

    Raises `ClientError` (400) with the messages of the body's errors. An unknown name is ignored:
    some clients add their own (such as `api-version`) to every URL.
    """
    return fit(_page(params, "after", "before", "order") | _include(params), InputItemsQuery)


def decode_responses_query(params: Mapping[str, Sequence[str]]) -> ResponsesQuery:
    """Return the query of `GET /responses`. Raises `ClientError` (400)."""
    return fit(_page(params, "after", "before", "order", "q"), ResponsesQuery)


def decode_completions_query(params: Mapping[str, Sequence[str]]) -> CompletionsQuery:
    """Return the query of `GET /chat/completions`, with metadata as `metadata[key]=value`.

    Raises `ClientError`.
    """
    data = _page(params, "after", "order", "model")
    if params.get("metadata"):
        data["metadata"] = params["metadata"][-1]
    pairs = {
        match[1]: values[-1]
        for name, values in params.items()
        if (match := _METADATA.fullmatch(name))
    }
    return fit(data | ({"metadata": pairs} if pairs else {}), CompletionsQuery)


def decode_completion_messages_query(
    params: Mapping[str, Sequence[str]],
) -> CompletionMessagesQuery:
    """Return the query of `GET /chat/completions/{id}/messages`. Raises `ClientError` (400)."""
    return fit(_page(params, "after", "order"), CompletionMessagesQuery)


def decode_stream_query(params: Mapping[str, Sequence[str]]) -> StreamQuery:
    """Return the query of `GET /responses/{id}?stream=true`. Raises `ClientError` (400)."""
    data: dict[str, Any] = {}
    if params.get("starting_after"):
        data["starting_after"] = _number(params["starting_after"][-1])
    try:
        query = fit(data, StreamQuery)
    except ClientError as error:
        # Out of range and not a number are one mistake here.
        raise ClientError(error.message, code="invalid_value", param="starting_after") from None
    return replace(query, include_obfuscation=is_true(params, "include_obfuscation", default=True))


def decode_endpoints_query(params: Mapping[str, Sequence[str]]) -> EndpointsQuery:
    """Return the query of `GET /webhook_endpoints`. Raises `ClientError` (400)."""
    query = decode_input_items_query(params)
    return EndpointsQuery(after=query.after, limit=query.limit)


def decode_usage_query(params: Mapping[str, Sequence[str]]) -> UsageQuery:
    """Return the query of `GET /usage`. Raises `ClientError` (400)."""
    times = {name: params[name][-1] for name in ("start_time", "end_time") if params.get(name)}
    provided: dict[str, Any] = {name: _number(text) for name, text in times.items()}
    if params.get("tenant"):
        provided["tenant"] = params["tenant"][-1]
    groups = [
        name
        for key in ("group_by", "group_by[]")
        for value in params.get(key, ())
        for name in value.split(",")
    ]
    if groups:
        provided["group_by"] = groups
    return fit(provided, UsageQuery)


def decode_query(params: Mapping[str, Sequence[str]], cls: type[T], *numbers: str) -> T:
    """Return a query with one value for each parameter; `limit` and `numbers` are numbers.

    Raises `ClientError` (400).
    """
    names = cls.__struct_fields__
    data = _page({name: params[name] for name in names if name in params}, *names)
    return fit(data | {name: _number(data[name]) for name in numbers if name in data}, cls)


def is_true(params: Mapping[str, Sequence[str]], name: str, *, default: bool = False) -> bool:
    """Return a yes or no of a query. Raises `ClientError` (400) for anything else."""
    value = params[name][-1].lower() if params.get(name) else str(default).lower()
    if value not in ("true", "false", "1", "0"):
        raise refusals.invalid_type(name, ["boolean"], value)
    return value in ("true", "1")


def decode_include(params: Mapping[str, Sequence[str]]) -> list[Include]:
    """Return what `include` and `include[]` in the query of `GET /responses/{id}` request, both
    repeatable.
    """
    return fit(_include(params), RetrieveQuery).include


def _page(params: Mapping[str, Sequence[str]], *names: str) -> dict[str, Any]:
    """Return these parameters and `limit`, as far as they are present."""
    data: dict[str, Any] = {name: params[name][-1] for name in names if params.get(name)}
    if params.get("limit"):
        data["limit"] = _number(params["limit"][-1])
    return data


def _number(text: str) -> int | str:
    """Return the number in a text; otherwise the text, which is then rejected as one."""
    return int(text) if _INTEGER.fullmatch(text) else text


def _include(params: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {
        "include": [value for name in ("include", "include[]") for value in params.get(name, ())]
    }
