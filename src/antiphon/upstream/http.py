"""A Chat Completions server over HTTP."""

import asyncio
import io
from collections.abc import AsyncGenerator
from typing import Any

import aiohttp
import msgspec

from antiphon.errors import BackendError
from antiphon.upstream.backend import Listing, Reply, carried
from antiphon.version import __version__

FIRST_BYTE_TIMEOUT = 900.0
"""Seconds a backend may be silent before its first byte: a long prompt on a small machine."""

IDLE_TIMEOUT = 120.0
"""Seconds a backend may be silent in mid-answer."""

LEAVE_TIMEOUT = 1.0
"""Seconds that a backend has between `[DONE]` and the end of its answer."""

LARGE = 1024 * 1024
"""Bytes of a request, say with an image in it, from which on it is sent in pieces, as aiohttp demands."""

MASK = b"***"
"""Stands for the key where a backend repeats it."""

CONNECT_TIMEOUT = 2.0
"""Seconds for the name, the connection and TLS."""

LIST_TIMEOUT = 5.0

NEVER_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


class HttpBackend:
    """A backend at a base URL such as `http://127.0.0.1:11434/v1`.

    Times are in seconds. `key` is sent as a bearer token, and masked where the backend repeats it. Redirects are not
    followed: a prompt goes only where the operator said.
    """

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
    ) -> None:
        self.name = name
        self.url = url.rstrip("/")
        self._key = key.encode()
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_timeout)
        self._list_timeout = aiohttp.ClientTimeout(total=list_timeout, connect=connect_timeout)
        self._first_byte_timeout = first_byte_timeout
        self._idle_timeout = idle_timeout
        self._session: aiohttp.ClientSession | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    def is_like(self, other: object) -> bool:
        """Whether asking the other one comes to the same: name, place, key and patience are."""
        return isinstance(other, HttpBackend) and self._terms() == other._terms()

    def _terms(self) -> tuple[object, ...]:
        return (self.name, self.url, self._key, self._timeout, self._first_byte_timeout, self._idle_timeout)

    def __repr__(self) -> str:
        return f"HttpBackend({self.name!r}, {self.url!r})"

    async def post(self, path: str, body: bytes) -> Reply:
        """See `Backend.post`."""
        deadline = asyncio.get_running_loop().time() + self._first_byte_timeout
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._posted(path, body)
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(error) from error
        return self._reply(response, deadline)

    async def _posted(self, path: str, body: bytes) -> aiohttp.ClientResponse:
        """Send a request; once more where a connection that had served before was closed under it.

        A server may close one that is idle at any time, and some do right behind an answer that went wrong.
        """
        served: list[bool] = []
        try:
            return await self._sent(path, body, served)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not served:
                raise
        return await self._sent(path, body, served)

    async def _sent(self, path: str, body: bytes, served: list[bool]) -> aiohttp.ClientResponse:
        """Send a request; `served` tells then whether its connection had served before."""
        return await self._client().post(
            self.url + path,
            data=body if len(body) < LARGE else io.BytesIO(body),
            headers=carried.get(),
            timeout=self._timeout,
            allow_redirects=False,
            trace_request_ctx=served,
        )

    async def get(self, path: str) -> Reply:
        """See `Backend.get`."""
        try:
            response = await self._client().get(self.url + path, timeout=self._list_timeout, allow_redirects=False)
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(error) from error
        deadline = asyncio.get_running_loop().time() + LIST_TIMEOUT
        return self._reply(response, deadline)

    async def list_models(self) -> Listing:
        """See `Backend.list_models`. Ollama, llama.cpp and others answer `{"data": […]}`, Together a bare list."""
        try:
            async with self._client().get(
                self.url + "/models", timeout=self._list_timeout, allow_redirects=False
            ) as response:
                if response.status != 200:
                    hint = "" if response.status != 404 or self.url.endswith("/v1") else " Does its URL end in /v1?"
                    raise BackendError(f"Listing models failed with status {response.status}.{hint}")
                value = msgspec.json.decode(await response.read())
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(error) from error
        except (ValueError, RecursionError) as error:
            raise BackendError("The backend answered something that is not JSON.") from error
        listed = value.get("data") if isinstance(value, dict) else value
        if not isinstance(listed, list):
            raise BackendError("The backend answered something that is not a list of models.")
        models = [model for model in listed if isinstance(model, dict)]
        return Listing(models, response.headers.get("server", ""))

    async def close(self) -> None:
        """Close every connection."""
        await asyncio.gather(*self._leaving)
        if self._session is not None:
            await self._session.close()

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {
                "content-type": "application/json",
                "accept-encoding": "identity",
                "user-agent": f"antiphon/{__version__}",
            }
            if self._key:
                headers["authorization"] = f"Bearer {self._key.decode()}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                trace_configs=[_reuse()],
            )
        return self._session

    def _reply(self, response: aiohttp.ClientResponse, deadline: float) -> Reply:
        """Return a reply whose answer must have begun at `deadline`, in the loop's time."""
        body = _Body(response)
        reply = Reply(response.status, response.headers, body, self._idle_timeout)
        body.parts = self._parts(response, deadline, reply)
        return reply

    async def _parts(
        self, response: aiohttp.ClientResponse, deadline: float, reply: Reply
    ) -> AsyncGenerator[bytes, None]:
        """Give the body as it comes."""
        silence = _Silence(response, deadline - asyncio.get_running_loop().time())
        mask = _Mask(self._key)
        part = b""
        try:
            while part := await response.content.readany():
                if reply.has_begun():
                    silence.broken(self._idle_timeout)
                if part := mask.feed(part):
                    yield part
                    if reply.has_begun():  # it may have with this part
                        silence.broken(self._idle_timeout)
            if part := mask.rest():
                yield part
        except (aiohttp.ClientError, OSError) as error:
            if silence.is_over:
                text = "The backend fell silent in the middle of its answer."
                raise BackendError(text, is_broken=True) from error
            text = "The connection to the backend broke in the middle of its answer."
            raise BackendError(text, is_broken=True) from error
        finally:
            silence.end()
            self._let_go(response, is_done=part.rstrip().endswith(b"[DONE]"))

    def _let_go(self, response: aiohttp.ClientResponse, *, is_done: bool) -> None:
        """Break the exchange off; after `[DONE]` read it to its end, so that its connection serves again."""
        if not is_done or response.content.is_eof():
            response.close()
            return
        task = asyncio.create_task(_read_out(response))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    def _unreachable(self, error: Exception) -> BackendError:
        reason = "did not answer in time" if isinstance(error, TimeoutError) else "cannot be reached"
        is_broken = not isinstance(error, NEVER_CONNECTED)
        text = f"The model backend {reason}."
        return BackendError(text, status=503, headers={"retry-after": "1"}, is_broken=is_broken)


def _reuse() -> aiohttp.TraceConfig:
    """Return what tells of a request whether its connection had served before."""

    async def tell(session: aiohttp.ClientSession, context: Any, parameters: Any) -> None:
        if isinstance(context.trace_request_ctx, list):
            context.trace_request_ctx.append(True)

    told = aiohttp.TraceConfig()
    told.on_connection_reuseconn.append(tell)
    return told


class _Body:
    """The bytes of an answer. Closing it ends the exchange, also where nobody began to read."""

    parts: AsyncGenerator[bytes, None]

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._is_begun = False

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        self._is_begun = True
        return self.parts

    async def aclose(self) -> None:
        if self._is_begun:
            await self.parts.aclose()
        else:
            self._response.close()


class _Mask:
    """Replaces a key in bytes that come in any cut. What may be the beginning of the key waits for the next bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._held = b""

    def feed(self, part: bytes) -> bytes:
        """Return as much of what came as is certain."""
        if not self._key:
            return part
        if self._held:
            part, self._held = self._held + part, b""
        if self._key in part:
            part = part.replace(self._key, MASK)
        # Most parts end with a line, and no key does: then nothing has to be looked at twice.
        if not part.endswith(b"\n") and (size := self._overlap(part)):
            part, self._held = part[:-size], part[-size:]
        return part

    def rest(self) -> bytes:
        """Return what waits in vain."""
        return self._held

    def _overlap(self, part: bytes) -> int:
        """Return how many of the last bytes begin the key."""
        sizes = range(min(len(self._key) - 1, len(part)), 0, -1)
        return next((size for size in sizes if part.endswith(self._key[:size])), 0)


async def _read_out(response: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(LEAVE_TIMEOUT):
            while await response.content.readany():
                pass
    except (aiohttp.ClientError, OSError):
        pass
    finally:
        response.close()


class _Silence:
    """Ends an exchange whose backend says nothing for too long.

    One timer that looks when the last byte came, since re-arming a timer for every read costs more than the read.
    """

    def __init__(self, response: aiohttp.ClientResponse, timeout: float) -> None:
        self.is_over = False
        self._response = response
        self._loop = asyncio.get_running_loop()
        self._timeout = timeout
        self._last = self._loop.time()
        self._timer: Any = self._loop.call_later(timeout, self._look)

    def broken(self, timeout: float) -> None:
        """Bytes came; from now on the silence may last `timeout` seconds."""
        self._last = self._loop.time()
        if timeout != self._timeout:
            self._timeout = timeout
            self._timer.cancel()
            self._timer = self._loop.call_later(timeout, self._look)

    def end(self) -> None:
        """Watch no longer."""
        self._timer.cancel()

    def _look(self) -> None:
        left = self._last + self._timeout - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
            return
        self.is_over = True
        self._response.content.set_exception(aiohttp.ServerTimeoutError("The backend is silent."))
        self._response.close()
