"""Converts the bytes of a request to the Messages API into typed data, or into the one error that
describes it.

A small body is decoded into its types at once. Only if that fails, or if the body is large, it is
decoded as all JSON of clients is (`validation/validate.py`), in slices if it is large, and then
converted.
"""

from typing import Any, TypeVar

import msgspec
from msgspec.json import Decoder

from antiphon.errors import ClientError
from antiphon.protocol.json_slices import count_openings
from antiphon.protocol.messages.requests import Conversation, CountTokens, CreateMessage
from antiphon.protocol.messages.wording import refusal, reworded
from antiphon.protocol.validation.validate import MAX_DEPTH, decode_object, fit
from antiphon.sizes import LARGE

T = TypeVar("T", bound=Conversation)

INTEGERS = ("max_tokens", "top_k")
"""A whole number written as `16.0` is an integer in JSON Schema, and is accepted as one."""

_create = Decoder(CreateMessage).decode
_count = Decoder(CountTokens).decode


def decode_create(body: bytes) -> CreateMessage:
    """Return the body of `POST /v1/messages`. Raises `ClientError` (400) for the first error.

    A body of more than `LARGE` bytes is for a thread.
    """
    if _is_small(body):
        try:
            return _checked(_create(body))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
    return read_message(body, CreateMessage)


def decode_count(body: bytes) -> CountTokens:
    """Return the body of `POST /v1/messages/count_tokens`. See `decode_create`."""
    if _is_small(body):
        try:
            return _checked(_count(body))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
    return read_message(body, CountTokens)


def read_message(body: bytes, cls: type[T]) -> T:
    """Return the body as a `cls`, decoded as all JSON of clients is. Raises `ClientError` (400)."""
    try:
        data = decode_object(body)
        _normalise(data)
        return _checked(fit(data, cls))
    except ClientError as error:
        raise (
            error
            if error.param and error.message.startswith(f"{error.param}: ")
            else reworded(error)
        ) from None


def _is_small(body: bytes) -> bool:
    """Whether the body is decoded in one step: fewer brackets than levels allowed, so it cannot be
    too deep.
    """
    return len(body) <= LARGE and (
        len(body) <= 2 * MAX_DEPTH or count_openings(body, MAX_DEPTH) <= MAX_DEPTH
    )


def _checked(request: T) -> T:
    if not request.messages:
        raise refusal("messages", "at least one message is required", "empty_array")
    return request


def _normalise(data: dict[str, Any]) -> None:
    for name in INTEGERS:
        number = data.get(name)
        if type(number) is float and number.is_integer():
            data[name] = int(number)
