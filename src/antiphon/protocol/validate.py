"""From the bytes of a request to typed data, or to the one error that says what is wrong with them.

The fast path is `msgspec.convert`. Only where that fails is the data walked, in the order in which the API checks
(specification section 13): JSON, an object, `messages`, the model, the input, unknown parameters, the fields in order.
Then come the rules between fields. The first error wins.
"""

from typing import Any

import msgspec

from antiphon.errors import ClientError
from antiphon.protocol import refusals
from antiphon.protocol.json import decode_object
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.rules import check_request
from antiphon.protocol.walk import check_fields

INPUT_SOURCES = ("previous_response_id", "prompt", "conversation")
"""Where the model's input may come from beside `input`."""

INTEGERS = ("max_output_tokens", "max_tool_calls", "top_logprobs")
"""A whole number written as `16.0` is an integer to JSON Schema, and is taken as one."""


def decode_request(body: bytes) -> CreateResponse:
    """Return the body of `POST /responses`, wholly checked. Raises `ClientError` (400) for the first thing wrong."""
    data = decode_object(body)
    normalize(data)
    try:
        request = msgspec.convert(data, CreateResponse)
    except msgspec.ValidationError as error:
        raise explain(data, error) from None
    check_request(request)
    return request


def normalize(data: dict[str, Any]) -> None:
    """Write out in place what the API lets a client leave out, before the types see it.

    An item with a role and no type is a message, one with an id alone is an item reference; a tool without type has
    the type null, because msgspec would take a lone struct without its tag where the API does not.
    """
    items = data.get("input")
    if type(items) is list:
        for item in items:
            if type(item) is dict and item.get("type") is None:
                _add_type(item)
    choice = data.get("tool_choice")
    for tools in (data.get("tools"), choice.get("tools") if type(choice) is dict else None):
        if type(tools) is list:
            for tool in tools:
                if type(tool) is dict:
                    tool.setdefault("type", None)
    for name in INTEGERS:
        number = data.get(name)
        if type(number) is float and number.is_integer():
            data[name] = int(number)


def _add_type(item: dict[str, Any]) -> None:
    if "role" in item:
        item["type"] = "message"
    elif item.keys() - {"type"} == {"id"}:
        item["type"] = "item_reference"


def explain(data: dict[str, Any], error: msgspec.ValidationError) -> ClientError:
    """Return what is wrong with the normalised data of a `CreateResponse` that msgspec refused with `error`."""
    try:
        _check_presence(data)
        check_fields(CreateResponse, data)
    except ClientError as found:
        return found
    return ClientError(f"Invalid request: {error}.")


def _check_presence(data: dict[str, Any]) -> None:
    if "messages" in data:
        raise ClientError(
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again "
            "with the new parameter. See the API documentation for more information: "
            "https://platform.openai.com/docs/api-reference/responses/create.",
            code="unsupported_parameter",
        )
    if "model" not in data and data.get("prompt") is None:
        raise refusals.missing("model")
    if "input" not in data and all(data.get(name) is None for name in INPUT_SOURCES):
        raise refusals.missing("input")
