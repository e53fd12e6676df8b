"""Ollama by its native API: the model is loaded with a window that fits the prompt, which is never
truncated.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from antiphon.errors import BackendError, ClientError, log
from antiphon.protocol.chat import error_code
from antiphon.protocol.json_pieces import encoded
from antiphon.protocol.json_slices import decoded
from antiphon.translation.ollama.answer import NativeAnswer
from antiphon.translation.ollama.model import OllamaModel, enough, next_window, read_model
from antiphon.translation.ollama.request import (
    CHAT,
    NativeOptions,
    native_request,
    requested_window,
)
from antiphon.translation.to_chat_completions.cut_prompts import is_longer
from antiphon.upstream.backend import Backend, Reply
from antiphon.upstream.native import (
    MAX_ERROR,
    NativeBackend,
    by_size,
    once,
    read_error,
    refusal,
    translated,
)

SHOW = "/../api/show"
PS = "/../api/ps"
VERSION = "/../api/version"

SERVICE = "ollama.com"
"""The host of Ollama's own service: its models have their largest window."""

PATIENCE = 5.0
"""Seconds that the server has to report something."""

FORGET_AFTER = 300.0
"""Seconds without a request after which a model's facts are requested again: by default, Ollama
then unloads it.
"""

MAX_STATED = 16 * 1024 * 1024
"""Bytes of the server's report about a model; `/api/show` includes the license and the template."""

OVERFLOW = "context_length_exceeded"


class _Known(Struct):
    """The known facts about a model at the server."""

    model: OllamaModel
    window: int
    """Tokens of the window with which it was loaded last."""
    used: float
    """When it was called last, in seconds of the loop's clock."""


class _ChatRequest(Struct, frozen=True):
    """A Chat request, and the window that it needs."""

    body: dict[str, Any]
    needed: int
    """Tokens of a window that fits it and its answer, without thinking."""


class OllamaBackend(NativeBackend):
    """The native API of an Ollama server, as a Chat Completions backend at the path `CHAT`.

    All other paths, and the list of models, go to `backend`, the same server by its base URL.
    `num_ctx` is the largest window that models are loaded with, in tokens, and `keep_alive` how
    long they stay in memory; None leaves that to the server. `window_of` returns the window that
    the operator configured for a model, or None. `reported` returns the window of the loaded model
    at the last poll, 0 if it is not loaded: another process may have loaded the model.
    """

    def __init__(
        self,
        backend: Backend,
        num_ctx: int,
        keep_alive: str | int | None,
        window_of: Callable[[str], int | None],
        reported: Callable[[str], int],
    ) -> None:
        super().__init__(backend)
        self._num_ctx = num_ctx
        self._keep_alive = keep_alive
        self._window_of = window_of
        self._reported = reported
        self._known: dict[str, _Known] = {}

    def window(self, model: str) -> int | None:
        """Return the largest window that the model can have; None before its first call, and for a
        remote model.
        """
        return self.largest(model) if model in self._known else None

    def largest(self, model: str) -> int | None:
        """Return the same as far as it is known now; before a call it lacks the model's own
        limit.
        """
        known = self._known.get(model)
        stated = known.model if known else read_model(model, None, None)
        return None if stated.is_remote else self._limit(model, stated)

    async def post(self, path: str, body: bytes) -> Reply:
        """See `Backend.post`. A request at the path `CHAT` is a Chat request, and so is its
        answer.
        """
        return await self._chat(body) if path == CHAT else await self.backend.post(path, body)

    async def _chat(self, body: bytes) -> Reply:
        """Call the model; retry with a larger window while the server reports that the prompt does
        not fit.
        """
        requested = await by_size(len(body), _read_request, body)
        name = str(requested.body.get("model"))
        known = await self._resolve(name)
        limit = self._limit(name, known.model)
        needed = max(requested.needed + known.model.thoughts, requested_window(requested.body))
        if needed > limit and not known.model.is_remote and is_longer(requested.body, limit):
            return refusal(too_small(limit), OVERFLOW)
        while True:
            before = max(known.window, self._reported(name))
            num_ctx = None if known.model.is_remote else next_window(needed, before, limit)
            known.window = num_ctx or 0
            try:
                native = await self._encoded(requested.body, known.model, num_ctx, len(body))
            except ClientError as error:
                return refusal(error.message, error.code, error.param)
            reply = await self.backend.post(CHAT, native)
            if reply.status < 400:
                return self._translated(reply, requested.body, num_ctx)
            failure = await read_error(reply)
            if num_ctx is None or num_ctx >= limit or not _is_overflow(failure):
                self._failed(name, known, before, reply.status)
                return Reply(reply.status, reply.headers, once(failure))
            needed = num_ctx + 1

    def _failed(self, name: str, known: _Known, before: int, status: int) -> None:
        """Discard the facts that the failed request changed: the memory may be too small for the
        larger window.
        """
        if status == 404:
            self._known.pop(name, None)
        if status >= 500 and known.window > before:
            text = (
                "The backend '%s' failed with status %d while loading '%s' with a window of %d "
                "tokens. %s"
            )
            advice = (
                "If its log reports a lack of memory, set a smaller `num_ctx` for this backend."
            )
            log.warning(text, self.name, status, name, known.window, advice)
        known.window = min(known.window, before)

    def _limit(self, name: str, model: OllamaModel) -> int:
        return model.limit(self._num_ctx, self._window_of(name))

    async def _encoded(
        self, body: dict[str, Any], model: OllamaModel, num_ctx: int | None, size: int
    ) -> bytes:
        options = NativeOptions(num_ctx, self._keep_alive, model.thinks)

        def encode() -> bytes:
            return encoded(native_request(body, options), size)

        return await by_size(size, encode)

    def _translated(self, reply: Reply, body: Mapping[str, Any], num_ctx: int | None) -> Reply:
        """Return the reply with its body in the format of Chat Completions."""
        is_stream = bool(body.get("stream"))
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        answer = NativeAnswer(
            f"chatcmpl-{uuid.uuid4().hex}", int(time.time()), num_ctx, with_usage=usage
        )
        return translated(reply, answer, is_stream=is_stream)

    async def _resolve(self, name: str) -> _Known:
        """Return the facts about a model; they are requested once, and again after the model was
        idle.
        """
        now = asyncio.get_running_loop().time()
        known = self._known.get(name)
        if known is None or now - known.used > FORGET_AFTER:
            model = read_model(
                name, await self._stated(SHOW, {"model": name}), await self._stated(PS)
            )
            if urlsplit(self.url).hostname == SERVICE:
                model = replace(model, is_remote=True)
            known = self._known[name] = _Known(model, model.loaded or model.modelfile or 0, now)
        known.used = now
        return known

    async def _stated(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the server's report, None without one.

        Raises `BackendError` if it is unreachable.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                requested = (
                    self.backend.get(path)
                    if body is None
                    else self.backend.post(path, msgspec.json.encode(body))
                )
                reply = await requested
                try:
                    return (
                        msgspec.json.decode(await reply.read(MAX_STATED))
                        if reply.status == 200
                        else None
                    )
                finally:
                    await reply.close()
        except (TimeoutError, ValueError, RecursionError):
            return None


async def speaks_natively(backend: Backend) -> bool | None:
    """Whether a server has Ollama's native API in addition to its base URL; None if it did not
    answer.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            reply = await backend.get(VERSION)
            try:
                if reply.status >= 500:
                    return None
                value = (
                    msgspec.json.decode(await reply.read(MAX_ERROR))
                    if reply.status == 200
                    else None
                )
            finally:
                await reply.close()
    except (BackendError, TimeoutError):
        return None
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("version"), str)


def too_small(limit: int) -> str:
    """Return the message for a prompt that does not fit the largest window."""
    return (
        f"The prompt has more tokens than the model's window, which is {limit:,} at most. "
        "Shorten the input, or raise `num_ctx` of this backend in the server's settings if "
        "the model supports a larger window."
    )


def _read_request(body: bytes) -> _ChatRequest:
    request: dict[str, Any] = decoded(body)
    return _ChatRequest(request, enough(request))


def _is_overflow(body: bytes) -> bool:
    try:
        return error_code(msgspec.json.decode(body)) == OVERFLOW
    except (ValueError, RecursionError):
        return False
