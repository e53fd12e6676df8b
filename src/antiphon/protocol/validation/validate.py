"""From the bytes of a request to typed data, or to the one error that says what is wrong with them.

The fast path is `msgspec.convert`. Only where that fails is the data walked, in the order in which the API checks
(specification section 13): JSON, an object, `messages`, the model, the input, unknown parameters, the fields in order.
Then come the rules between fields. The first error wins.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.items.messages import ID_PREFIXES, CompactionTrigger, ItemReference
from antiphon.protocol.json import decode_object
from antiphon.protocol.passthrough import ChatCompletionRequest, EmbeddingsRequest
from antiphon.protocol.requests import CompactRequest, CreateResponse, Include
from antiphon.protocol.resources import (
    AddItems,
    CountInputTokens,
    CreateConversation,
    EndpointsQuery,
    InputItemsQuery,
    RetrieveQuery,
    StreamQuery,
    UpdateConversation,
    UsageQuery,
)
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.rules import check_items, check_request

T = TypeVar("T", bound=Struct)
Items = TypeVar("Items", CreateConversation, AddItems)

_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")

PUT = tuple(str(item.__struct_config__.tag) for item in ID_PREFIXES if item is not CompactionTrigger)
"""Items that can be put into a conversation: references and triggers stand in a response's input only."""

INPUT_SOURCES = ("previous_response_id", "prompt", "conversation")
"""Where the model's input may come from beside `input`."""

NULLABLE = {"model", "input"}
"""Fields that may be null where input is counted, and not where a response is made."""

INTEGERS = ("max_output_tokens", "max_tool_calls", "top_logprobs")
"""A whole number written as `16.0` is an integer to JSON Schema, and is taken as one."""


def decode_request(body: bytes) -> CreateResponse:
    """Return the body of `POST /responses`, wholly checked. Raises `ClientError` (400) for the first thing wrong."""
    return read_request(decode_object(body))


def read_request(data: dict[str, Any]) -> CreateResponse:
    """Return plain data as the body of `POST /responses`, wholly checked. Raises `ClientError` (400)."""
    normalize(data)
    request = fit(data, CreateResponse, _check_presence)
    check_request(request)
    return request


def decode_compact_request(body: bytes) -> CompactRequest:
    """Return the body of `POST /responses/compact`, wholly checked. Raises `ClientError` (400)."""
    data = decode_object(body)
    normalize(data)
    request = fit(data, CompactRequest, _check_presence)
    if isinstance(request.input, list):
        check_items(request.input)
    return request


def decode_count(body: bytes) -> CreateResponse:
    """Return the body of `POST /responses/input_tokens` as the response that is to be counted.

    Raises `ClientError` (400) as for that response; `null` is accepted wherever a field may be absent.
    """
    data = {name: value for name, value in decode_object(body).items() if value is not None or name not in NULLABLE}
    normalize(data)
    fit(data, CountInputTokens, _check_presence)
    data.pop("personality", None)
    request = fit(data, CreateResponse)
    check_request(request)
    return request


def decode_create_conversation(body: bytes) -> CreateConversation:
    """Return the body of `POST /conversations`, which may be empty. Raises `ClientError` (400)."""
    return _with_items(body or b"{}", CreateConversation)


def decode_add_items(body: bytes) -> AddItems:
    """Return the body of `POST /conversations/{id}/items`. Raises `ClientError` (400)."""
    return _with_items(body, AddItems)


def decode_update_conversation(body: bytes) -> UpdateConversation:
    """Return the body of `POST /conversations/{id}`. Raises `ClientError` (400)."""
    return fit(decode_object(body), UpdateConversation)


def decode_body(body: bytes, cls: type[T]) -> T:
    """Return a body without items as a `cls`. Raises `ClientError` (400)."""
    return fit(decode_object(body or b"{}"), cls)


def _with_items(body: bytes, cls: type[Items]) -> Items:
    data = decode_object(body)
    if type(items := data.get("items")) is list:
        type_items(items)
    request = fit(data, cls)
    check_items(request.items or [], "items")
    for i, item in enumerate(request.items or []):
        if isinstance(item, ItemReference | CompactionTrigger):
            raise refusals.value_not_served(f"items[{i}].type", str(item.__struct_config__.tag), PUT)
    return request


def decode_chat_request(body: bytes) -> dict[str, Any]:
    """Return the body of `POST /chat/completions`: what this server knows of it is right, the rest is the backend's."""
    data = decode_object(body)
    fit(data, ChatCompletionRequest)
    return data


def decode_embeddings_request(body: bytes) -> dict[str, Any]:
    """Return the body of `POST /embeddings`: what this server knows of it is right, the rest is the backend's."""
    data = decode_object(body)
    fit(data, EmbeddingsRequest)
    return data


def decode_input_items_query(params: Mapping[str, Sequence[str]]) -> InputItemsQuery:
    """Return the query of `GET /responses/{id}/input_items`; of a name that stands twice the last value counts.

    Raises `ClientError` (400) in the words of the body's errors. A name that the API does not know is ignored: some
    clients put their own (such as `api-version`) on every URL.
    """
    data: dict[str, Any] = {name: params[name][-1] for name in ("after", "before", "order") if params.get(name)}
    if params.get("limit"):
        limit = params["limit"][-1]
        data["limit"] = int(limit) if _INTEGER.fullmatch(limit) else limit
    return fit(data | _include(params), InputItemsQuery)


def decode_stream_query(params: Mapping[str, Sequence[str]]) -> StreamQuery:
    """Return the query of `GET /responses/{id}?stream=true`. Raises `ClientError` (400)."""
    data: dict[str, Any] = {}
    if params.get("starting_after"):
        after = params["starting_after"][-1]
        data["starting_after"] = int(after) if _INTEGER.fullmatch(after) else after
    try:
        query = fit(data, StreamQuery)
    except ClientError as error:
        # Out of range and no number at all are one mistake here.
        raise ClientError(error.message, code="invalid_value", param="starting_after") from None
    return replace(query, include_obfuscation=is_true(params, "include_obfuscation", default=True))


def decode_endpoints_query(params: Mapping[str, Sequence[str]]) -> EndpointsQuery:
    """Return the query of `GET /webhook_endpoints`. Raises `ClientError` (400)."""
    query = decode_input_items_query(params)
    return EndpointsQuery(after=query.after, limit=query.limit)


def decode_usage_query(params: Mapping[str, Sequence[str]]) -> UsageQuery:
    """Return the query of `GET /usage`. Raises `ClientError` (400)."""
    given = {name: params[name][-1] for name in UsageQuery.__struct_fields__ if params.get(name)}
    return fit({name: int(text) if _INTEGER.fullmatch(text) else text for name, text in given.items()}, UsageQuery)


def is_true(params: Mapping[str, Sequence[str]], name: str, *, default: bool = False) -> bool:
    """Return a yes or no of a query. Raises `ClientError` (400) for anything else."""
    value = params[name][-1].lower() if params.get(name) else str(default).lower()
    if value not in ("true", "false", "1", "0"):
        raise refusals.invalid_type(name, ["boolean"], value)
    return value in ("true", "1")


def decode_include(params: Mapping[str, Sequence[str]]) -> list[Include]:
    """Return what `include` and `include[]` in the query of `GET /responses/{id}` ask for, both repeatable."""
    return fit(_include(params), RetrieveQuery).include


def _include(params: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {"include": [value for name in ("include", "include[]") for value in params.get(name, ())]}


def fit(data: dict[str, Any], cls: type[T], check_first: Callable[[dict[str, Any]], None] | None = None) -> T:
    """Return plain data as a `cls`, or raise `ClientError` for the first thing wrong; `check_first` comes first."""
    try:
        return msgspec.convert(data, cls)
    except msgspec.ValidationError as error:
        from antiphon.protocol.validation.type_errors import check_fields  # noqa: PLC0415 - for mistakes alone

        if check_first is not None:
            check_first(data)
        check_fields(cls, data)
        # Not to be reached: msgspec and the walk agree on what fits.
        raise ClientError(f"Invalid request: {error}.") from None


def normalize(data: dict[str, Any]) -> None:
    """Write out in place what the API lets a client leave out, before the types see it.

    An item with a role and no type is a message, one with an id alone is an item reference; what has only one type
    and lacks it has the type null, because msgspec would take a lone struct without its tag where the API does not.
    """
    if type(items := data.get("input")) is list:
        type_items(items)
    if type(tools := data.get("tools")) is list:
        _rename(tools)
    management = data.get("context_management")
    for entry in management if type(management) is list else ():
        if type(entry) is dict:
            entry.setdefault("type", None)
    for name in INTEGERS:
        number = data.get(name)
        if type(number) is float and number.is_integer():
            data[name] = int(number)


def type_items(items: list[Any]) -> None:
    """Write out the types that items may lack."""
    for item in items:
        if type(item) is dict and item.get("type") is None:
            _add_type(item)
    _rename(items)


def _rename(entries: list[Any]) -> None:
    """Give back its name to `async` of items and tools, which the Python SDK dumps as `async_`."""
    for entry in entries:
        if type(entry) is dict:
            if "async_" in entry:
                entry.setdefault("async", entry.pop("async_"))
            if type(tools := entry.get("tools")) is list:
                _rename(tools)


def _add_type(item: dict[str, Any]) -> None:
    if "role" in item:
        item["type"] = "message"
    elif item.keys() - {"type"} == {"id"}:
        item["type"] = "item_reference"


def _check_presence(data: dict[str, Any]) -> None:
    if "messages" in data:
        raise ClientError(
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again "
            "with the new parameter. See the API documentation for more information: "
            "https://platform.openai.com/docs/api-reference/responses/create.",
            code="unsupported_parameter",
        )
    if "model" not in data:
        # A stored prompt could have named the model.
        raise refusals.missing("model") if data.get("prompt") is None else refusals.not_served("prompt")
    if "input" not in data and all(data.get(name) is None for name in INPUT_SOURCES):
        raise refusals.missing("input")
