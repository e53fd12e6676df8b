"""Replaces the SDK's reader for the messages of MCP servers. Only `session.py` and `dispatcher.py`
load it.

The SDK decodes and validates a message in one step on the event loop, at 3 to 10 MiB/s, and loses
all of it if one value is nested 200 deep. Here a message is split at once, at some 200 MiB/s, and
its result stays as bytes, which `sound.py` then reads a piece at a time.
"""

from typing import Any, NoReturn

import mcp_types as types
import msgspec
from mcp.client import streamable_http
from msgspec import UNSET, Raw, Struct, UnsetType
from pydantic_core import ValidationError

from antiphon.tools.mcp.result import shortened
from antiphon.tools.mcp.wire import MAX_LIST, exchanging

MAX_REQUEST = 64 * 1024
"""Bytes of a server's own requests and notifications, and of an error's data: the SDK reads these
whole.
"""

MAX_VALUES = 500_000
"""Objects, arrays and commas of a message that is larger than a list of tools can be; text and
images have few.
"""

_SEPARATORS = b"[{,"
_SDK: Any = types.jsonrpc_message_adapter


class UnreadResult(dict[str, Any]):
    """The result of a request, still as JSON, instead of the SDK's parsed value."""

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        self.raw = raw


class _Error(Struct):
    code: int
    message: str
    data: Raw | UnsetType = UNSET


class _Message(Struct):
    id: int | str | None = None
    method: str | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: _Error | UnsetType = UNSET


class _Reader:
    """Replaces the message reader in the SDK's modules; other users of the SDK get its own
    reader.
    """

    def validate_json(self, data: str | bytes, **how: Any) -> types.JSONRPCMessage:
        """Return a message. Raises pydantic's `ValidationError`, which is what the SDK expects."""
        if exchanging.get() is None:
            message: types.JSONRPCMessage = _SDK.validate_json(data, **how)
            return message
        return read_message(data.encode(errors="replace") if isinstance(data, str) else data)

    def __getattr__(self, name: str) -> Any:
        return getattr(_SDK, name)


def install() -> None:
    """Make the SDK read messages by this file, in sessions of this server."""
    reader = _Reader()
    for module in (types, streamable_http):
        setattr(module, "jsonrpc_message_adapter", reader)  # noqa: B010 - typed as the SDK's own


def read_message(data: bytes) -> types.JSONRPCMessage:
    """Return a message with an `UnreadResult` as its result.

    Raises pydantic's `ValidationError`.
    """
    if len(data) > MAX_LIST and len(data) - len(data.translate(None, _SEPARATORS)) > MAX_VALUES:
        _refuse()
    try:
        message = msgspec.json.decode(data, type=_Message)
    except (ValueError, RecursionError):
        _refuse()
    if isinstance(message.result, Raw) and message.id is not None:
        result = UnreadResult(bytes(message.result))
        return types.JSONRPCResponse.model_construct(jsonrpc="2.0", id=message.id, result=result)
    if isinstance(message.error, _Error):
        return types.JSONRPCError.model_construct(
            jsonrpc="2.0", id=message.id, error=_error(message.error)
        )
    if len(data) > MAX_REQUEST:
        _refuse()
    read: types.JSONRPCMessage = _SDK.validate_json(data, by_name=False)
    return read


def read_small(result: bytes) -> dict[str, Any]:
    """Return a result that is neither a list of tools nor a tool's.

    Raises `ValueError` if it is too large.
    """
    if len(result) > MAX_REQUEST:
        raise ValueError("the result is too large")
    try:
        return msgspec.json.decode(result, type=dict[str, Any])
    except RecursionError as error:
        raise ValueError("the result is nested too deep") from error


def _error(error: _Error) -> types.ErrorData:
    small = isinstance(error.data, Raw) and len(bytes(error.data)) <= MAX_REQUEST
    data = _data_of(error.data) if small else None
    return types.ErrorData.model_construct(
        code=error.code, message=shortened(error.message), data=data
    )


def _data_of(data: Any) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None


def _refuse() -> NoReturn:
    raise ValidationError.from_exception_data("message", [])
