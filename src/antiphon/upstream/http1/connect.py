"""Opens connections: DNS, address, proxy, TLS, all within one time limit."""

import asyncio
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar, cast

from antiphon.upstream.http1.origin import Origin, Proxy, request_head

NAME_TTL = 60.0
"""Seconds for which the addresses of a name are cached."""

MAX_TUNNEL_HEAD = 16 * 1024
"""Maximum bytes of a proxy's response to CONNECT."""

_AGREED = re.compile(rb"HTTP/1\.[01] 2\d\d(?: |\r|$)")
"""The beginning of a proxy's response to CONNECT if the tunnel is open."""

_Protocol = TypeVar("_Protocol", bound=asyncio.Protocol)


class ConnectError(OSError):
    """No connection: DNS, the address, TLS or the proxy failed. No byte of the request was sent."""


class ConnectTimeoutError(ConnectError, TimeoutError):
    """No connection within the time limit."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files in PEM: the authorities to trust instead of the system's, and the client
    certificate.
    """

    ca_file: str = ""
    client_cert: str = ""
    client_key: str = ""
    """Empty if `client_cert` contains the key too."""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context for connections.

        Raises `OSError` and `ValueError` for files that cannot be used.
        """
        if self == _NO_FILES:
            return _system_context()
        context = _new_context(self.ca_file)
        if self.client_cert:
            context.load_cert_chain(
                self.client_cert, self.client_key or None, password=_no_password
            )
        return context

    def versions(self) -> tuple[int, ...]:
        """Return the modification time of each file: a renewed certificate is loaded again."""
        files = [name for name in (self.ca_file, self.client_cert, self.client_key) if name]
        return tuple(Path(name).stat().st_mtime_ns for name in files)


_NO_FILES = TlsFiles()


class Connector:
    """Opens connections to one server."""

    def __init__(
        self,
        origin: Origin,
        proxy: Proxy | None,
        tls: Callable[[], ssl.SSLContext],
        connect_timeout: float,
    ) -> None:
        self._origin = origin
        self._proxy = proxy
        self._tls = tls
        self._timeout = connect_timeout
        self._names: dict[str, tuple[float, asyncio.Task[list[str]]]] = {}

    async def connect(self, make: Callable[[], _Protocol]) -> _Protocol:
        """Return a protocol with its connection. Raises `ConnectError`."""
        try:
            async with asyncio.timeout(self._timeout):
                return await self._connect(make)
        except TimeoutError as error:
            raise ConnectTimeoutError("no connection in time") from error
        except (OSError, UnicodeError, ssl.CertificateError) as error:
            raise ConnectError(str(error)) from error

    def close(self) -> None:
        """Stop all DNS lookups."""
        for _, task in self._names.values():
            task.cancel()
        self._names.clear()

    async def _connect(self, make: Callable[[], _Protocol]) -> _Protocol:
        if self._proxy is None:
            return await self._dial(
                make, self._origin, self._tls() if self._origin.is_tls else None
            )
        if not self._origin.is_tls:
            return await self._dial(make, self._proxy.origin, None)
        return await self._tunnel(make, self._proxy)

    async def _dial(
        self, make: Callable[[], _Protocol], origin: Origin, tls: ssl.SSLContext | None
    ) -> _Protocol:
        """Try the addresses of a server in turn, each for its share of the time."""
        loop = asyncio.get_running_loop()
        addresses = await self._addresses(origin)
        end = loop.time() + self._timeout
        failure: Exception = ConnectError("the host name has no address")
        name = origin.host if tls is not None else None
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            try:
                async with asyncio.timeout((end - loop.time()) / left):
                    created = await loop.create_connection(
                        make, address, origin.port, ssl=tls, server_hostname=name
                    )
                    return created[1]
            except OSError as error:
                failure = error
        raise failure

    async def _addresses(self, origin: Origin) -> list[str]:
        """Return the addresses of a name; concurrent callers share one lookup, which continues
        without them.
        """
        if _is_address(origin.host):
            return [origin.host]
        loop = asyncio.get_running_loop()
        until, task = self._names.get(origin.host, (0.0, None))
        if (
            task is None
            or until < loop.time()
            or (task.done() and (task.cancelled() or task.exception()))
        ):
            task = asyncio.create_task(resolve(origin))
            self._names[origin.host] = loop.time() + NAME_TTL, task
        if not task.done():
            await asyncio.wait({task})
        if (
            task.cancelled()
        ):  # by `close`: raising `CancelledError` would cancel a task that was not cancelled
            raise ConnectError("the client is closed")
        return task.result()

    async def _tunnel(self, make: Callable[[], _Protocol], proxy: Proxy) -> _Protocol:
        """Have the proxy connect to the server, and start TLS with the server through it."""
        loop = asyncio.get_running_loop()
        tunnel = await self._dial(_Tunnel, proxy.origin, None)
        try:
            target = self._origin.authority
            await tunnel.send_request(
                request_head("CONNECT", target, [("host", target), *proxy.fields]) + b"\r\n"
            )
            protocol = make()
            transport = await loop.start_tls(
                tunnel.transport, protocol, self._tls(), server_hostname=self._origin.host
            )
        except BaseException:
            tunnel.transport.abort()
            raise
        if transport is None:
            raise ConnectError("the connection was closed during the TLS handshake")
        protocol.connection_made(transport)
        return protocol


class _Tunnel(asyncio.Protocol):
    """Requests a connection from a proxy, and reads the response."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._head = b""
        self._answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    async def send_request(self, request: bytes) -> None:
        """Raises `ConnectError` if the proxy refuses."""
        self.transport.write(request)
        await self._answered

    def data_received(self, data: bytes) -> None:
        if self._answered.done():
            return
        self._head += data
        head, end, rest = self._head.partition(b"\r\n\r\n")
        if end and not rest and _AGREED.match(head):
            self._answered.set_result(None)
        elif end or len(self._head) > MAX_TUNNEL_HEAD:
            self._refuse("the proxy refused the connection")

    def connection_lost(self, error: Exception | None) -> None:
        self._refuse("the proxy closed the connection")

    def _refuse(self, reason: str) -> None:
        if not self._answered.done():
            self._answered.set_exception(ConnectError(reason))


async def resolve(origin: Origin) -> list[str]:
    """Return the addresses of an origin in the order of the system's resolver, each once.

    Raises `OSError`.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(origin.host, origin.port, type=1)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


@cache
def _system_context() -> ssl.SSLContext:
    """The system's authorities, read once for all backends."""
    return _new_context("")


def _new_context(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file or None)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _no_password() -> str:
    """A server cannot prompt for a password; OpenSSL would prompt in its terminal."""
    raise ValueError("the client key is protected by a password; use a key without one")
