"""The HTTP API inside this process, for methods with forms and queries, and for calls with headers.

Errors are the application's own objects, with the id of their request.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from antiphon.errors import AntiphonError, APITimeoutError, BackendError, ClientError
from antiphon.library.asgi_app import AsgiApplication
from antiphon.library.call import ApiCall, encoded
from antiphon.library.forms import MultipartForm
from antiphon.library.in_process import (
    BrokenOff,
    InProcessExchange,
    InProcessRequest,
    InProcessServer,
)
from antiphon.library.options import Options
from antiphon.library.service import LibraryService
from antiphon.library.streams import LOST, cut_off
from antiphon.server.request import ON_ERROR


class Api:
    """Sends requests to the application of a service, which is created by the first of them."""

    def __init__(self, service: LibraryService) -> None:
        self._server = InProcessServer(AsgiApplication(service))

    async def send(self, call: ApiCall, options: Options) -> tuple[bytes, Mapping[bytes, bytes]]:
        """Return body and headers of the reply.

        Raises the error of the request. Cancelling it ends the request.
        """
        exchange, headers = await self._begin(call, options, None)
        parts = []
        try:
            while part := await exchange.read():
                parts.append(part)
        except BrokenOff:
            raise cut_off(LOST) from None
        finally:
            exchange.leave()
        return b"".join(parts), headers

    async def lines(self, call: ApiCall, options: Options) -> AsyncGenerator[list[bytes], None]:
        """Yield the data of the events of the reply, those that arrive together at once.

        Raises as `send`.
        """
        exchange, _ = await self._begin(call, options, options.timeout)
        waiting = bytearray()  # the beginning of a frame
        try:
            while part := await exchange.read():
                waiting += part
                end = waiting.rfind(b"\n\n", max(0, len(waiting) - len(part) - 1))
                if end >= 0:
                    found = [
                        line
                        for line in bytes(waiting[:end]).split(b"\n")
                        if line.startswith(b"data: ")
                    ]
                    del waiting[: end + 2]
                    if (
                        found
                    ):  # comments alone keep the connection open, and must not extend a `timeout`
                        yield found
        except BrokenOff:
            raise cut_off(LOST) from None
        except TimeoutError:
            raise APITimeoutError(options.timeout or 0) from None
        finally:
            exchange.leave()

    async def close(self) -> None:
        """End the running requests."""
        await self._server.end()

    async def _begin(
        self, call: ApiCall, options: Options, seconds: float | None
    ) -> tuple[InProcessExchange, Mapping[bytes, bytes]]:
        raised: list[AntiphonError] = []
        request = _request(call, options, raised.append)
        try:
            exchange, status, headers = await self._server.send(request, seconds)
        except TimeoutError:
            raise APITimeoutError(seconds or 0) from None
        if status < 400:
            return exchange, dict(headers)
        try:
            error = raised[0] if raised else _error(status, await exchange.read())
        finally:
            exchange.leave()
        error.request_id = dict(headers).get(b"x-request-id", b"").decode() or None
        raise error


def _request(
    call: ApiCall, options: Options, on_error: Callable[[AntiphonError], None]
) -> InProcessRequest:
    headers = {name.encode(): value.encode() for name, value in options.headers.items()} | {
        b"host": b"localhost"
    }
    body: bytes | AsyncGenerator[bytes, None] = b""
    if isinstance(call.body, MultipartForm):
        headers |= {
            b"content-type": call.body.content_type.encode(),
            b"transfer-encoding": b"chunked",
        }
        body = call.body.body()
    elif call.body is not None:
        body = encoded(call.body)
        headers |= {b"content-type": b"application/json", b"content-length": b"%d" % len(body)}
    query = urlencode(call.query, doseq=True).encode()
    return InProcessRequest(
        call.method, f"/v1{call.path}", query, list(headers.items()), body, {ON_ERROR: on_error}
    )


def _error(status: int, body: bytes) -> AntiphonError:
    """Return the error that a backend answered, which was forwarded as it is."""
    try:
        fields: Any = msgspec.json.decode(body)["error"]
        message = str(fields["message"])
        code = fields.get("code")
        param = fields.get("param")
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        message = body[:500].decode("utf-8", "replace")
        code = None
        param = None
    if status < 500:
        return ClientError(
            message, status=status, code=code and str(code), param=param and str(param)
        )
    return BackendError(message, status=status, code=str(code or "server_error"))
