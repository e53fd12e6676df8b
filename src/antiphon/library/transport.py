"""HTTP clients that serve requests inside this process: for the official SDK, and so for every
program that uses it.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from typing import TYPE_CHECKING, Any, Self

from antiphon.config import Settings
from antiphon.errors import ConfigError
from antiphon.library.asgi_app import AsgiApplication
from antiphon.library.background_loop import LoopOwner
from antiphon.library.in_process import (
    BrokenOff,
    InProcessExchange,
    InProcessRequest,
    InProcessServer,
)
from antiphon.library.service import LibraryService
from antiphon.upstream.backend import Backend

if TYPE_CHECKING:
    import httpx2

    from antiphon.agents.registration import Agent


def http_client(
    settings: Settings | None = None,
    *,
    backend: str | Backend | None = None,
    key: str = "",
    store: str | None = None,
    agents: "Sequence[Agent]" = (),
) -> "httpx2.Client":
    """Return an HTTP client for `OpenAI(http_client=...)`: its requests are served inside this process.

    The arguments are those of `Antiphon`. Host and API key of the SDK's client are ignored. Closing the client
    closes everything behind it. Raises `ConfigError`, also if the HTTP library of the SDK is not installed.

    >>> import antiphon
    >>> from openai import OpenAI
    >>> with OpenAI(api_key="none", http_client=antiphon.http_client()) as client:
    ...     print(client.responses.create(model="demo", input="Hi").status)
    completed
    """  # noqa: E501 - a table, a diagram or an example
    http = http_library()
    app = AsgiApplication(LibraryService(settings, backend, key, store, agents=agents))
    return http.Client(transport=_SyncTransport(http, app))  # type: ignore[no-any-return]  # of one of two libraries


def async_http_client(
    settings: Settings | None = None,
    *,
    backend: str | Backend | None = None,
    key: str = "",
    store: str | None = None,
    agents: "Sequence[Agent]" = (),
) -> "httpx2.AsyncClient":
    """Return an HTTP client for `AsyncOpenAI(http_client=...)`: its requests are served inside this process.

    It belongs to the event loop of its first request. For the rest see `http_client`.

    >>> import asyncio
    >>> import antiphon
    >>> from openai import AsyncOpenAI
    >>> async def main() -> None:
    ...     async with AsyncOpenAI(api_key="none", http_client=antiphon.async_http_client()) as client:
    ...         print((await client.responses.create(model="demo", input="Hi")).status)
    >>> asyncio.run(main())
    completed
    """  # noqa: E501 - a table, a diagram or an example
    http = http_library()
    service = LibraryService(settings, backend, key, store, what="HTTP client", agents=agents)
    app = AsgiApplication(service)
    return http.AsyncClient(transport=_AsyncTransport(http, app))  # type: ignore[no-any-return]  # as above


@cache
def http_library() -> Any:
    """Return the HTTP library that the installed SDK uses.

    Raises `ConfigError` if it is not installed.
    """
    try:
        needs = requires("openai") or []
    except PackageNotFoundError:
        needs = ["httpx2"]
    name = "httpx2" if any(need.startswith("httpx2") for need in needs) else "httpx"
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(
            f"The HTTP client needs the package {name}: pip install openai {name}"
        ) from error


class _SyncTransport:
    """A transport in the sense of the HTTP library, for calls without `await`."""

    def __init__(self, http: Any, app: AsgiApplication) -> None:
        self._http, self._server = http, InProcessServer(app)
        self._owner = LoopOwner(self._server.close)

    def close(self) -> None:
        self._owner.close()

    def handle_request(self, request: Any) -> Any:
        created = _request(request, request.read())
        timeout = _timeout(request)
        with _translated(self._http, request):
            exchange, status, headers = self._owner.run(self._server.send(created, timeout))
        body = _body_types(self._http)[0](self, exchange, request)
        return self._http.Response(status, headers=headers, stream=body)

    def parts(self, exchange: InProcessExchange, request: Any) -> Iterator[bytes]:
        """Yield the body of a reply as it arrives."""
        with _translated(self._http, request):
            while part := self._owner.run(exchange.read()):
                yield part

    def leave(self, exchange: InProcessExchange) -> None:
        """End an exchange."""
        self._owner.loop.post(exchange.leave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _AsyncTransport:
    """A transport in the sense of the HTTP library, for the event loop of its first request."""

    def __init__(self, http: Any, app: AsgiApplication) -> None:
        self._http, self._server = http, InProcessServer(app)

    async def handle_async_request(self, request: Any) -> Any:
        created = _request(request, await request.aread())
        timeout = _timeout(request)
        with _translated(self._http, request):
            exchange, status, headers = await self._server.send(created, timeout)
        body = _body_types(self._http)[1](self, exchange, request)
        return self._http.Response(status, headers=headers, stream=body)

    async def parts(self, exchange: InProcessExchange, request: Any) -> AsyncIterator[bytes]:
        """Yield the body of a reply as it arrives."""
        with _translated(self._http, request):
            while part := await exchange.read():
                yield part

    async def aclose(self) -> None:
        await self._server.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


class _SyncBody:
    def __init__(
        self, transport: _SyncTransport, exchange: InProcessExchange, request: Any
    ) -> None:
        self._transport = transport
        self._exchange = exchange
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        return self._transport.parts(self._exchange, self._request)

    def close(self) -> None:
        self._transport.leave(self._exchange)


class _AsyncBody:
    def __init__(
        self, transport: _AsyncTransport, exchange: InProcessExchange, request: Any
    ) -> None:
        self._transport = transport
        self._exchange = exchange
        self._request = request

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._transport.parts(self._exchange, self._request)

    async def aclose(self) -> None:
        self._exchange.leave()


@cache
def _body_types(http: Any) -> tuple[type[_SyncBody], type[_AsyncBody]]:
    """Return the bodies of replies for the HTTP library, which requires its own classes as
    bases.
    """
    bases = (_SyncBody, http.SyncByteStream), (_AsyncBody, http.AsyncByteStream)
    return type("SyncBody", bases[0], {}), type("AsyncBody", bases[1], {})


def _request(request: Any, body: bytes) -> InProcessRequest:
    headers = [(name.lower(), value) for name, value in request.headers.raw]
    return InProcessRequest(request.method, request.url.path, request.url.query, headers, body)


def _timeout(request: Any) -> float | None:
    """Return the longest time in seconds without a byte from the application."""
    seconds: float | None = request.extensions.get("timeout", {}).get("read")
    return seconds


@contextmanager
def _translated(http: Any, request: Any) -> Iterator[None]:
    """Raise the HTTP library's exception for the same error on a connection."""
    try:
        yield
    except TimeoutError as error:
        raise http.ReadTimeout(
            "Antiphon sent nothing within the time limit.", request=request
        ) from error
    except BrokenOff as error:
        raise http.RemoteProtocolError(str(error), request=request) from error
