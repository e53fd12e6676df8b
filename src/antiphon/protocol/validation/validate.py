"""Converts the bytes of a request into typed data, or into the one error that describes the
problem.

The fast path is `msgspec.convert`. Only if that fails is the data walked, in the order in which the
API checks (specification section 13): JSON, an object, `messages`, the model, the input, unknown
parameters, the fields in order. Then the rules between fields follow. The first error is reported.
All JSON of clients is parsed here by one parser, so that two parts never read the same bytes
differently (if a key appears twice, the last one counts).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from antiphon.errors import ClientError
from antiphon.protocol.items.messages import (
    ID_PREFIXES,
    CompactionTrigger,
    InputItem,
    ItemReference,
)
from antiphon.protocol.json_members import NO_READERS, Readers, decode_value
from antiphon.protocol.json_slices import count_openings, decode_in_slices, holds_more
from antiphon.protocol.passthrough import (
    ChatCompletionRequest,
    EmbeddingsRequest,
    ImagesForm,
    ImagesRequest,
    StoredChatRequest,
)
from antiphon.protocol.requests import CompactRequest, CreateResponse, LocalRequest
from antiphon.protocol.resources import (
    AddItems,
    CountInputTokens,
    CreateConversation,
    UpdateChatCompletion,
    UpdateConversation,
)
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.rules import RULED, check_items, check_request
from antiphon.sizes import LARGE

T = TypeVar("T", bound=Struct)
Items = TypeVar("Items", CreateConversation, AddItems)
Takes = Callable[[str], bool]
"""Whether some backend accepts the parameter of this name, which the API does not have."""

PUT = tuple(
    str(item.__struct_config__.tag) for item in ID_PREFIXES if item is not CompactionTrigger
)
"""Items that can be added to a conversation: references and triggers are valid only in a response's
input.
"""

INPUT_SOURCES = ("previous_response_id", "prompt", "conversation")
"""Where the model's input can come from other than `input`."""

NULLABLE = {"model", "input"}
"""Fields that can be null when input is counted, and not when a response is created."""

INTEGERS = ("max_output_tokens", "max_tool_calls", "top_logprobs")
"""A whole number written as `16.0` is an integer in JSON Schema, and is accepted as one."""


MAX_DEPTH = 512
"""Levels of arrays and objects in a body. Encoders recurse: deeper data could be read and never
written again.
"""

MAX_CONTAINERS = 500_000
"""Arrays and objects in a body. Ten million empty ones take few bytes, and seconds in which no
other request runs.
"""

FREE_FORM = frozenset(
    {"metadata", "parameters", "schema", "output_schema", "client_metadata", "prompt_cache_options"}
)
"""Parameters with a depth that the client determines: errors name them if they are nested too
deeply.
"""

_ENCODING_HINTS = (
    (b"", "the body is empty"),
    (b"\xef\xbb\xbf", "it begins with a byte order mark"),
    (b"\xff\xfe", "it is not UTF-8"),
    (b"\xfe\xff", "it is not UTF-8"),
)


def decode_json(body: bytes, most_at_once: int = LARGE, readers: Readers = NO_READERS) -> Any:
    """Return the decoded JSON, as plain Python data; a body of more than `most_at_once` bytes is
    read in slices.

    `readers` read members of a body that is read so, see `decode_members`.

    Strict: UTF-8 without byte order mark, no NaN or Infinity, no lone surrogates, numbers that a
    double can hold or integers of at most 4,300 digits, at most `MAX_DEPTH` levels and
    `MAX_CONTAINERS` arrays and objects. Raises `ClientError` (400) otherwise.
    """
    is_small = len(body) <= most_at_once
    # An array or an object takes two bytes, and so does a level.
    if (
        len(body) > 2 * MAX_CONTAINERS
        and count_openings(body, MAX_CONTAINERS) > MAX_CONTAINERS
        and holds_more(body, MAX_CONTAINERS)
    ):
        raise refusals.too_many_containers(MAX_CONTAINERS)
    try:
        data = decode_value(body) if is_small else decode_in_slices(body, readers)
    except RecursionError:
        raise refusals.too_deep(None, MAX_DEPTH) from None
    except UnicodeDecodeError:
        raise refusals.malformed("it is not UTF-8") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise refusals.malformed(_hint(body) or _reason(error)) from None
    # Fewer brackets than levels allowed: it cannot be too deep, and most small bodies end here. In
    # the long texts of a large one are so many that counting takes as long as looking.
    may_be_deep = len(body) > 2 * MAX_DEPTH and (
        not is_small or count_openings(body, MAX_DEPTH) > MAX_DEPTH
    )
    if may_be_deep and is_deep(data):
        raise refusals.too_deep(_deep_parameter(data), MAX_DEPTH)
    return data


def decode_object(
    body: bytes, most_at_once: int = LARGE, readers: Readers = NO_READERS
) -> dict[str, Any]:
    """Return the JSON object in the body.

    Raises `ClientError` (400) if it is anything else. See `decode_json`.
    """
    data = decode_json(body, most_at_once, readers)
    if type(data) is not dict:
        raise refusals.invalid_type("", ["object"], data)
    return data


def decode_request(body: bytes, takes: Takes | None = None) -> CreateResponse:
    """Return the body of `POST /responses`, fully checked. Raises `ClientError` (400) for the first error.

    A parameter that the API does not have is an error unless `takes` accepts its name; the result is then a
    `LocalRequest`. `Candidates.taking` checks later whether a backend of this model accepts it.

    >>> from antiphon.translation import decode_request
    >>> decode_request(b'{"model": "m", "input": "Hi", "temprature": 1}')
    Traceback (most recent call last):
    antiphon.errors.BadRequestError: Unknown parameter: 'temprature'. Did you mean 'temperature'?
    """  # noqa: E501 - a table, a diagram or an example
    return read_request(decode_object(body), takes)


def read_request(
    data: dict[str, Any], takes: Takes | None = None, items: list[InputItem] | None = None
) -> CreateResponse:
    """Return plain data as the body of `POST /responses`.

    See `decode_request`. Its tools can be a `ToolList`. `items` is its input if that is not in the
    data.
    """
    tools = data.pop("tools") if type(data.get("tools")) is ToolList else None
    normalize(data)
    try:
        request = fit(data, CreateResponse, _check_presence)
    except ClientError as error:
        if takes is None or error.code != refusals.UNKNOWN_PARAMETER:
            raise
        local = [
            name
            for name in data
            if name not in CreateResponse.__struct_encode_fields__ and takes(name)
        ]
        if not local:
            raise
        request = _local_request(data, local)
    if tools is not None:
        request.tools = tools
    if items is not None:
        request.input = items
    if (
        tools is not None
        or type(request.input) is not str
        or not request.input
        or not RULED.isdisjoint(data)
    ):
        check_request(request)
        if request.tools and tools is None:
            request.tools = ToolList(request.tools)
    return request


def _local_request(data: dict[str, Any], local: Sequence[str]) -> CreateResponse:
    """Return plain data as a request with these parameters in addition to those of the API. Raises
    `ClientError`.
    """
    parameters = {name: data.pop(name) for name in local}
    request = fit(data, CreateResponse, _check_presence)
    provided = {name: value for name, value in parameters.items() if value is not None}
    return LocalRequest.of(request, provided) if provided else request


def decode_compact_request(body: bytes) -> CompactRequest:
    """Return the body of `POST /responses/compact`, fully checked. Raises `ClientError` (400)."""
    data = decode_object(body)
    normalize(data)
    request = fit(data, CompactRequest, _check_presence)
    if isinstance(request.input, list):
        check_items(request.input)
    return request


def decode_count(body: bytes) -> CreateResponse:
    """Return the body of `POST /responses/input_tokens` as the response to be counted.

    Raises `ClientError` (400) as for that response; `null` is accepted wherever a field can be
    absent.
    """
    data = {
        name: value
        for name, value in decode_object(body).items()
        if value is not None or name not in NULLABLE
    }
    normalize(data)
    fit(data, CountInputTokens, _check_presence)
    data.pop("personality", None)
    request = fit(data, CreateResponse)
    check_request(request)
    return request


def decode_create_conversation(body: bytes) -> CreateConversation:
    """Return the body of `POST /conversations`, which can be empty. Raises `ClientError` (400)."""
    return _with_items(body or b"{}", CreateConversation)


def decode_add_items(body: bytes) -> AddItems:
    """Return the body of `POST /conversations/{id}/items`. Raises `ClientError` (400)."""
    return _with_items(body, AddItems)


def decode_update_conversation(body: bytes) -> UpdateConversation:
    """Return the body of `POST /conversations/{id}`. Raises `ClientError` (400)."""
    return fit(decode_object(body), UpdateConversation)


def decode_update_completion(body: bytes) -> UpdateChatCompletion:
    """Return the body of `POST /chat/completions/{id}`. Raises `ClientError` (400)."""
    return fit(decode_object(body), UpdateChatCompletion)


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
            raise refusals.unsupported_value(
                f"items[{i}].type", str(item.__struct_config__.tag), PUT
            )
    return request


def decode_chat_request(body: bytes) -> dict[str, Any]:
    """Return the body of `POST /chat/completions`: the fields that this server knows are checked,
    the backend checks the rest.
    """
    data = decode_object(body)
    fit(data, ChatCompletionRequest)
    if data.get("store"):
        fit(data, StoredChatRequest)
    return data


def decode_embeddings_request(body: bytes) -> dict[str, Any]:
    """Return the body of `POST /embeddings`: the fields that this server knows are checked, the
    backend checks the rest.
    """
    data = decode_object(body)
    fit(data, EmbeddingsRequest)
    return data


def decode_images_request(body: bytes) -> dict[str, Any]:
    """Return the body of `POST /images/generations` or `POST /images/edits`, checked in the same
    way.
    """
    data = decode_object(body)
    fit(data, ImagesRequest)
    return {name: value for name, value in data.items() if name != "model" or value is not None}


def check_images_fields(fields: dict[str, Any]) -> None:
    """Raise `ClientError` (400) for invalid fields of a form."""
    fit(fields, ImagesForm)


def fit(
    data: dict[str, Any], cls: type[T], check_first: Callable[[dict[str, Any]], None] | None = None
) -> T:
    """Return plain data as a `cls`, or raise `ClientError` for the first error; `check_first` is
    checked first.
    """
    try:
        return msgspec.convert(data, cls)
    except msgspec.ValidationError as error:
        from antiphon.protocol.validation.type_errors import check_fields  # noqa: PLC0415 - only for mistakes

        if check_first is not None:
            check_first(data)
        check_fields(cls, data)
        # Unreachable: msgspec and the walk agree on what is valid.
        raise ClientError(f"Invalid request: {error}.") from None


def normalize(data: dict[str, Any]) -> None:
    """Add the parts that the API lets a client omit, before the types read the data.

    An item with a role and no type is a message, one with only an id is an item reference; an item
    with only one possible type that lacks it receives the type null, because msgspec would accept a
    single struct without its tag and the API does not.
    """
    if type(items := data.get("input")) is list:
        type_items(items)
    if type(tools := data.get("tools")) is list:
        _rename(tools)
    management = data.get("context_management")
    for entry in management if type(management) is list else ():
        if type(entry) is dict:
            entry.setdefault("type", None)
    if data.get("prompt") is not None and data.get("model") is None:
        data["model"] = ""  # the prompt can name it
    for name in INTEGERS:
        number = data.get(name)
        if type(number) is float and number.is_integer():
            data[name] = int(number)


def type_items(items: list[Any]) -> None:
    """Add the types that items can omit."""
    for item in items:
        if type(item) is dict and item.get("type") is None:
            _add_type(item)
    _rename(items)


def _rename(entries: list[Any]) -> None:
    """Restore the name `async` of items and tools, which the Python SDK dumps as `async_`."""
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
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved "
            "to 'input'. Try again with the new parameter. See the API documentation for more "
            "information: https://platform.openai.com/docs/api-reference/responses/create.",
            code="unsupported_parameter",
        )
    if "model" not in data:
        raise refusals.missing("model")
    if "input" not in data and all(data.get(name) is None for name in INPUT_SOURCES):
        raise refusals.missing("input")


def _hint(body: bytes) -> str | None:
    return next(
        (
            hint
            for start, hint in _ENCODING_HINTS
            if (body.startswith(start) if start else not body)
        ),
        None,
    )


def _reason(error: Exception) -> str:
    words = str(error).removeprefix("JSON is malformed: ").partition(" - at ")[0]
    # msgspec reports the same for the first half of a surrogate pair at the end of a string.
    if words == "Input data was truncated":
        return "it ends too early, or a string holds half a surrogate pair"
    return words[:1].lower() + words[1:]


def is_deep(data: Any, limit: int = MAX_DEPTH) -> bool:
    """Return whether plain data, an array or an object, has more levels of them."""
    level = [data]
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _deep_parameter(data: Any) -> str | None:
    """Follow the deep branch down to the first free-form parameter; None if it meets none near the
    top.
    """
    path = ""
    for depth in range(1, 5):
        entries = data.items() if type(data) is dict else enumerate(data)
        key, data = next(
            (key, child) for key, child in entries if is_deep([child], MAX_DEPTH + 1 - depth)
        )
        path = f"{path}[{key}]" if isinstance(key, int) else refusals.below(path, key)
        if key in FREE_FORM:
            return path
    return None
