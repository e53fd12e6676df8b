"""A Chat Completions server over HTTP."""

import os
import ssl
from collections.abc import Callable, Mapping

import msgspec

from antiphon.errors import BackendError, ConfigError, redacted
from antiphon.upstream.backend import Listing, Reply, carried, sent_as, too_large
from antiphon.upstream.causes import unanswered, unreachable
from antiphon.upstream.http1.connect import ConnectError, Connector, TlsFiles
from antiphon.upstream.http1.origin import (
    field_lines,
    origin_of,
    proxy_for,
    request_head,
    target_of,
)
from antiphon.upstream.http1.pool import BackendExchange, ConnectionPool
from antiphon.upstream.http1.response import SilenceError
from antiphon.upstream.identity import BackendIdentity
from antiphon.version import __version__

FIRST_BYTE_TIMEOUT = 900.0
"""Seconds that a backend can be silent before its first byte: a long prompt on a small machine."""

IDLE_TIMEOUT = 120.0
"""Seconds that a backend can be silent in the middle of an answer."""

CONNECT_TIMEOUT = 2.0
"""Seconds for DNS, the connection and TLS."""

LIST_TIMEOUT = 5.0

LONGEST = 10_000_000.0
"""Seconds that replace any longer time: timers cannot be infinite."""

MAX_LISTING = 64 * 1024 * 1024
"""Maximum bytes of a list of models."""

NO_FILES = TlsFiles()

ANTHROPIC = "api.anthropic.com"
"""The host that gets its key in `x-api-key` alone; gateways with its API read either header."""

MESSAGES_VERSION = "2023-06-01"
"""The version of the Messages API that all servers have, and that accepts `temperature`."""

ALL_MODELS = "/models?limit=1000"
"""The list of models of a Messages API, which has 20 by default."""


def messages_base(url: str) -> str:
    """Return the base URL of a Messages API, ending in `/v1`, also for one without it."""
    url = url.rstrip("/").removesuffix("/messages")
    return url if url.endswith("/v1") else f"{url}/v1"


class HttpReply(Reply, eq=False):
    """A reply over HTTP. An exchange reads a whole body without splitting it into parts."""

    body: BackendExchange

    async def read(self, limit: int = 64 * 1024 * 1024) -> bytes:
        """See `Reply.read`."""
        body = await self.body.read(limit)
        if body is None:
            raise too_large(limit)
        return body

    async def close(self) -> None:
        """See `Reply.close`."""
        await self.body.aclose()


class HttpBackend:
    """A backend at a base URL such as `http://127.0.0.1:11434/v1`.

    Times are in seconds. `key` is sent as a bearer token, and masked if the backend repeats it;
    `key_env` is the variable that contains it, for errors. `label` is the backend's name in errors
    for clients, by default its name. `proxy` is the URL of a proxy, `none`, or empty for the proxy
    in `environment`. Redirects are not followed: a prompt goes only to the configured server. A
    server that `speaks_messages`, Anthropic's API, gets its headers and a base URL that ends in
    `/v1`.
    Raises `ConfigError` for a URL, key, proxy or file that cannot be used.
    """

    FIRST_BYTE_SETTING = "first_byte_timeout"
    """The setting that the advice for a late answer names."""

    IDLE_SETTING = "idle_timeout"
    """The setting that the advice for an answer which pauses too long names."""

    def __init__(
        self,
        name: str,
        url: str,
        key: str = "",
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
        first_byte_timeout: float = FIRST_BYTE_TIMEOUT,
        idle_timeout: float = IDLE_TIMEOUT,
        list_timeout: float = LIST_TIMEOUT,
        tls: TlsFiles = NO_FILES,
        proxy: str = "",
        environment: Mapping[str, str] | None = None,
        label: str = "",
        key_env: str = "",
        speaks_messages: bool = False,
    ) -> None:
        self.name = name
        self._speaks_messages = speaks_messages
        self._root = MESSAGES_ROOT if speaks_messages else ROOT
        self.url = messages_base(url) if speaks_messages else url.rstrip("/")
        self.identity = BackendIdentity(name, self.url, label or name, key_env)
        """Its identity in errors."""
        self._key = key.encode()
        self._connect_timeout = min(connect_timeout, LONGEST)
        self._first_byte_timeout = min(first_byte_timeout, LONGEST)
        self._idle_timeout = min(idle_timeout, LONGEST)
        self._list_timeout = list_timeout
        self._pool: ConnectionPool | None = None
        self._heads: dict[tuple[str, str], bytes] = {}
        try:
            self._origin = origin_of(self.url)
            self._proxy = proxy_for(
                self._origin, proxy, os.environ if environment is None else environment
            )
            self._tls = tls, tls.versions()
            self._context = tls.context if tls == NO_FILES else _always(tls.context())
            self._fields = self._own_fields(key)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"The backend {redacted(self.url)} cannot be used: {error}."
            ) from error

    def is_like(self, other: object) -> bool:
        """Whether the other one is equivalent: same name, URL, proxy, key and timeouts."""
        return isinstance(other, HttpBackend) and self._terms() == other._terms()

    def _terms(self) -> tuple[object, ...]:
        patience = (
            self._connect_timeout,
            self._first_byte_timeout,
            self._idle_timeout,
            self._list_timeout,
        )
        return (
            self.identity,
            self._key,
            patience,
            self._proxy,
            self._tls,
            self._speaks_messages,
        )

    def __repr__(self) -> str:
        return f"HttpBackend({self.name!r}, {redacted(self.url)!r})"

    @property
    def idle_connections(self) -> int:
        """How many connections wait for a request."""
        return self._pool.idle if self._pool is not None else 0

    async def post(self, path: str, body: bytes) -> Reply:
        """See `Backend.post`."""
        kind = sent_as.get()
        head = self._heads.get(("POST", path)) or self._head("POST", path)
        if kind != JSON:
            head = head.replace(CONTENT_TYPE % JSON.encode(), CONTENT_TYPE % kind.encode(), 1)
        if fields := carried.get():
            head = field_lines(fields.items()).join((head[: -len(LENGTH)], LENGTH))
        pool = self._pool or self._opened()
        try:
            exchange = await pool.send(
                (b"%b%d\r\n\r\n" % (head, len(body)), body), self._first_byte_timeout
            )
            reply = HttpReply(
                exchange.response.status, exchange.response.headers, exchange, self._idle_timeout
            )
            exchange.read_as(self._key, reply, self._idle_timeout, self._broken)
        except OSError as error:
            raise self._unanswered(
                error, self._first_byte_timeout, self.FIRST_BYTE_SETTING
            ) from error
        return reply

    async def get(self, path: str) -> Reply:
        """See `Backend.get`."""
        exchange = await self._get(path)
        return HttpReply(
            exchange.response.status, exchange.response.headers, exchange, self._idle_timeout
        )

    async def list_models(self) -> Listing:
        """See `Backend.list_models`.

        Ollama, llama.cpp and others answer `{"data": […]}`, Together a bare list.
        """
        exchange = await self._get(ALL_MODELS if self._speaks_messages else "/models")
        try:
            status = exchange.response.status
            if status != 200:
                raise self._no_list(status)
            value = msgspec.json.decode(await exchange.read(MAX_LISTING) or b"")
        except (ValueError, RecursionError) as error:
            raise self.identity.error(
                "did not return JSON for its list of models", self._root
            ) from error
        finally:
            await exchange.aclose()
        listed = value.get("data") if isinstance(value, dict) else value
        if not isinstance(listed, list):
            raise self.identity.error("did not return a list of models", self._root)
        models = [model for model in listed if isinstance(model, dict)]
        return Listing(models, exchange.response.headers.get("server", ""))

    async def close(self) -> None:
        """Close every connection."""
        if self._pool is not None:
            await self._pool.close()

    async def _get(self, path: str) -> BackendExchange:
        """GET a path; the whole response has one time limit."""
        head = self._heads.get(("GET", path)) or self._head("GET", path)
        try:
            exchange = await (self._pool or self._opened()).send(
                (head + b"\r\n",), self._list_timeout
            )
            exchange.read_as(self._key, None, 0.0, self._unlisted)
        except OSError as error:
            raise self._unlisted(error) from error
        return exchange

    def _no_list(self, status: int) -> BackendError:
        """Return the error for a status other than 200 instead of the list of models."""
        if status == 401:
            return self.identity.refused_key(status, answer=status)
        is_doubtful = status == 404 and (self._speaks_messages or not self.url.endswith("/v1"))
        advice = self._root if is_doubtful else ""
        text = f"returned status {status} for its list of models"
        return self.identity.error(text, advice, status=status if 400 <= status < 500 else 502)

    def _unlisted(self, error: Exception) -> BackendError:
        return self._unanswered(error, self._list_timeout)

    def _unanswered(self, error: Exception, limit: float, setting: str = "") -> BackendError:
        """Return the error for a request without an answer within `limit` seconds, which `setting`
        can raise.
        """
        is_broken = not isinstance(error, ConnectError)
        cause = (
            unanswered(error, limit, setting)
            if is_broken
            else unreachable(error, self._connect_timeout)
        )
        return self.identity.error(
            cause.brief,
            cause.advice,
            detail=cause.detail,
            status=503,
            headers={"retry-after": "1"},
            is_broken=is_broken,
        )

    def _broken(self, error: Exception) -> BackendError:
        if not isinstance(error, SilenceError):
            return self.identity.error(
                "closed the connection in the middle of its answer", is_broken=True
            )
        if error.has_begun:
            text = f"stopped sending data in the middle of its answer, for {self._idle_timeout:g} s"
            advice = f"If it needs more time, raise `{self.IDLE_SETTING}`."
        else:
            text = f"did not begin its answer within {self._first_byte_timeout:g} s"
            advice = f"If it needs more time to read a prompt, raise `{self.FIRST_BYTE_SETTING}`."
        return self.identity.error(text, advice, is_broken=True)

    def _opened(self) -> ConnectionPool:
        connector = Connector(self._origin, self._proxy, self._context, self._connect_timeout)
        self._pool = ConnectionPool(connector)
        return self._pool

    def _head(self, method: str, path: str) -> bytes:
        """Return the head of a request, which is the same for each to this path; for a POST,
        without the length.
        """
        target = target_of(self.url, path)
        fields = self._fields
        if self._proxy is not None and not self._origin.is_tls:
            target = f"http://{self._origin.host_field}{target}"
            fields = [*fields, *self._proxy.fields]
        if method == "GET":
            head = request_head(method, target, fields)
        else:
            head = request_head(method, target, [*fields, ("content-type", JSON)]) + LENGTH
        self._heads[method, path] = head
        return head

    def _own_fields(self, key: str) -> list[tuple[str, str]]:
        fields = [
            ("host", self._origin.host_field),
            ("accept", "*/*"),
            ("accept-encoding", "identity"),
            ("user-agent", f"antiphon/{__version__}"),
        ]
        if self._speaks_messages:
            fields.append(("anthropic-version", MESSAGES_VERSION))
            fields += [("x-api-key", key)] if key else []
        if key and not (self._speaks_messages and self._origin.host == ANTHROPIC):
            fields.append(("authorization", f"Bearer {key}"))
        field_lines(fields)
        return fields


ROOT = "Check that its URL is the base URL of a Chat Completions server, which usually ends in /v1."

MESSAGES_ROOT = (
    "Check that its URL is the base URL of a Messages API. If that has no list of models, name "
    "them with the setting `models`."
)

JSON = "application/json"
CONTENT_TYPE = b"content-type: %b\r\n"

LENGTH = b"content-length: "
"""The last field of a POST; the number is appended."""


def _always(context: ssl.SSLContext) -> Callable[[], ssl.SSLContext]:
    return lambda: context
