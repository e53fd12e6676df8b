"""Passes a request for Chat Completions, embeddings or images through to the backends.

The backend receives the validated request, encoded again, so that for a repeated key it sees only
the value that was checked. The response is passed on byte for byte.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Any, Protocol

from antiphon.access.cache_salt import PARAMETER, salt_of
from antiphon.access.metering import UNMETERED, UsageLease
from antiphon.access.spending import NOTHING_SPENT, SpentTokens, cost_of, name_of
from antiphon.errors import BackendError
from antiphon.protocol.json_pieces import encoded
from antiphon.protocol.response import Usage
from antiphon.telemetry.observers import ObservedCall, Observers, Operation
from antiphon.translation.to_chat_completions.tokens import by_size, request_tokens
from antiphon.upstream.backend import Reply, sent_as
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.call import BROKEN, BackendRefusal, UpstreamReply, call, report
from antiphon.upstream.router import Route

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

COMMENTS = (b":", b"\n", b"\r")
"""Bytes with which a part begins that is only comments of a stream."""

OPERATIONS: dict[str, Operation] = {
    "/chat/completions": "chat",
    "/embeddings": "embeddings",
    "/images/generations": "images",
    "/images/edits": "images",
}

MakeForm = Callable[[str], tuple[bytes, str]]
"""Returns a form with the name of a model, and its type."""


def _encode(value: Any) -> bytes:
    return _encoder.encode(value).encode()


class PassthroughSink(Protocol):
    """The destination of a response that is passed on."""

    async def begin(self, status: int, backend: str, headers: Mapping[str, str]) -> None:
        """Start the response: its status, the label of the backend that sends it, and its
        headers.
        """
        ...

    async def write(self, part: bytes, *, more_body: bool = True) -> None:
        """Send a part of the response; the last one with `more` false."""
        ...


class Passing:
    """One request. `encode` encodes it, `run` calls its backends until one answers."""

    def __init__(
        self,
        observers: Observers,
        route: Route,
        path: str,
        request: dict[str, Any],
        grant: UsageLease | None,
        tenant: str = "",
        form: MakeForm | None = None,
    ) -> None:
        self.tenant = tenant
        self._form = form
        self._observers = observers
        self._route = route
        self._grant = grant or UNMETERED
        self._path = path
        self._request = request
        self._newest: ObservedCall | None = None
        self.on_refusal: Callable[[BackendRefusal], bytes | None] = report
        """See `upstream.call.call`."""
        self.may_run = False
        """Whether a refusal can raise `RunInsteadError`."""
        self.has_other_path = False
        """Whether other backends can answer it, but not in this API."""
        self._parts: tuple[bytes, bytes]
        """The request's JSON before and after the name of the model, as `encode` leaves it."""

    async def run(self, sink: PassthroughSink) -> None:
        """Pass the response on to `sink`.

        Raises `AntiphonError` if no backend returns one, or it breaks off.
        """
        if self._form is None:
            return await self._run(sink)
        token = sent_as.set("")
        try:
            await self._run(sink)
        finally:
            sent_as.reset(token)

    async def _run(self, sink: PassthroughSink) -> None:
        try:
            upstream, answer = await call(
                self._route,
                self._path,
                self._body_for,
                self._observers,
                self._record,
                _begin,
                on_refusal=self.on_refusal,
            )
            try:
                await _copy(upstream, *answer, sink)
            finally:
                await upstream.close()
        except asyncio.CancelledError:
            if self._newest is not None and self._newest.error is None:
                usage = Usage(input_tokens=request_tokens(self._request))
                self._grant.report(
                    self.spent(usage)
                )  # unless an answer began, with a better estimate
            raise

    @property
    def target(self) -> ModelTarget:
        """The backend that was called last. Raises `TypeError` before the first call."""
        if self._newest is None:
            raise TypeError("no backend was called yet")
        return self._newest.target

    def spent(self, usage: Usage) -> SpentTokens:
        """Return the cost of these tokens at the backend that was called last."""
        if self._newest is None:
            return NOTHING_SPENT
        target = self._newest.target
        cached = usage.input_tokens_details.cached_tokens
        return SpentTokens(
            usage.input_tokens, usage.output_tokens, cached, name_of(target), cost_of(target, usage)
        )

    def _record(self, target: ModelTarget) -> ObservedCall:
        self._newest = newest = ObservedCall(None, target, self._request, OPERATIONS[self._path])
        return newest

    def spent_on_request(self) -> SpentTokens:
        """Return the tokens of the request alone, without an answer."""
        return self.spent(Usage(input_tokens=by_size(str(self._request.get("prompt", "")))))

    def _body_for(self, target: ModelTarget) -> bytes:
        if self._form is not None:
            body, kind = self._form(target.model)
            sent_as.set(kind)
            return body
        is_salted = target.state.options.cache_salt and OPERATIONS[self._path] == "chat"
        salt = {PARAMETER: salt_of(self.tenant)} if is_salted else {}
        whole = _encode(target.model).join(self._parts)
        # Appended after one that the client sent: if a header occurs twice, the last one counts.
        return whole[:-1] + b"," + _encode(salt)[1:] if salt else whole

    def encode(self, size: int) -> None:
        """Encode the request, which has `size` bytes, before it runs: one with a form has none."""
        names = list(self._request)
        behind = {name: self._request[name] for name in names[names.index("model") + 1 :]}
        before = {name: self._request[name] for name in names[: names.index("model")]}
        head, tail = (encoded(part, size, _encode) for part in (before, behind))
        self._parts = (
            head[:-1] + (b',"model":' if before else b'"model":'),
            b"," + tail[1:] if behind else b"}",
        )


async def _begin(reply: Reply) -> tuple[bytes, AsyncIterator[bytes]]:
    """Await the first part of a response; return it with the rest."""
    parts = aiter(reply.body)
    return await anext(parts, b""), parts


async def _copy(
    upstream: UpstreamReply[ObservedCall],
    first: bytes,
    rest: AsyncIterator[bytes],
    sink: PassthroughSink,
) -> None:
    """Pass a response on, byte for byte.

    Raises `BackendError` for a redirect, which no client may follow.
    """
    if (status := upstream.reply.status) >= HTTPStatus.MULTIPLE_CHOICES:
        identity = upstream.target.state.identity
        error = identity.error(
            f"answered with status {status}, a redirect, which is not followed", "Correct its URL."
        )
        upstream.report_failure(BROKEN, error)
        raise error
    has_spoken = not _is_comment(first)
    if has_spoken:
        upstream.spoke()
    await sink.begin(upstream.reply.status, upstream.target.state.label, upstream.reply.headers)
    await sink.write(first)
    while (part := await _next(upstream, rest)) is not None:
        if not has_spoken and not _is_comment(part):
            has_spoken = True
            upstream.spoke()
        await sink.write(part)
    await sink.write(b"", more_body=False)
    upstream.succeeded()


async def _next(upstream: UpstreamReply[ObservedCall], rest: AsyncIterator[bytes]) -> bytes | None:
    """Return the next part, None at the end.

    Only what breaks here counts against the backend, no refusal by a sink.
    """
    try:
        return await anext(rest, None)
    except BackendError as error:
        upstream.report_failure(BROKEN, error)
        raise


def _is_comment(part: bytes) -> bool:
    """Whether a part of a stream only keeps the connection open, as llama.cpp's does while it reads
    a prompt.
    """
    return part[:1] in COMMENTS and all(line[:1] in (b"", b":") for line in part.splitlines())
