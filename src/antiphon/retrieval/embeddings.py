"""Computes embeddings with a model of this server's backends: routed, limited and measured like
other calls.

A failure is one of four kinds, and only the first concerns the texts:

| Kind | Examples | What follows |
|---|---|---|
| refused | 400, 413, 422; a failure that the same server does not have with a tiny text | smaller calls: `fitting.py` |
| limited | 429, 503, a full queue | another attempt after the requested time |
| away | no connection, a time limit, 502, a rejected key | the same, and searches do not call the model meanwhile |
| unusable | not embeddings, an unknown model | an error at once, or after two more attempts |
"""  # noqa: E501 - a table, a diagram or an example

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.errors import AntiphonError, BackendError, ClientError, log
from antiphon.search.chunking import estimate_tokens
from antiphon.search.contract import UnavailableError
from antiphon.search.fitting import EmbeddedPart, EmbeddingLimits, Fitting
from antiphon.search.vectors import mean, unit
from antiphon.telemetry.observers import ObservedCall, Observers
from antiphon.upstream.backend import Reply
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.call import BackendRefusal, call
from antiphon.upstream.outages import Outages, backoff
from antiphon.upstream.retry_after import wait_of
from antiphon.upstream.router import Router

MOST_TEXTS = 64
"""Texts of one call, if neither a setting nor the server allows fewer."""

LARGEST_REPLY = 32 * 1024 * 1024
"""Maximum bytes of a reply with vectors."""

MOST_NUMBERS = 128 * 1024
"""Numbers of the vectors of one call, once their size is known: a reply is decoded at once, these
in about 10 ms.
"""

AT_ONCE = 8
"""Vectors that are normalized before other tasks run: each takes about 0.2 ms."""

Charge = Callable[[str, ModelTarget, int], None]
"""Charges a tenant for tokens that a model at a backend has read."""

PATIENCE = 120.0
"""Seconds for which a file keeps its slot while it waits for the next vectors; then it returns to
the queue.
"""

QUICK = 1.0
"""Seconds of the same for a search, which can answer without vectors."""

LONGEST_SEARCH = 30.0
"""Time limit in seconds of the embeddings of a search: some servers load the model for the first
one.
"""

ATTEMPTS = 3
"""Calls until an answer without usable vectors is an error."""

RETAINED = 86_400.0
"""Seconds for which learned limits are kept: servers change."""

_AWAY = frozenset({401, 402, 403, 408, 502, 503, 504, 529})
"""Statuses of failures that no other text would avoid."""

_TINY = "a"


class _UnusableError(BackendError):
    """The answer has no usable vectors."""


class _RefusedError(Exception):
    """The server refused the texts of a call."""

    def __init__(self, error: AntiphonError) -> None:
        super().__init__(error.gist)
        self.error = error


class _Embedding(Struct):
    embedding: list[float]
    index: int = 0


class _Embeddings(Struct):
    data: list[_Embedding]
    usage: Any = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Embeddings).decode


class Embedder:
    """Computes embeddings with one model. See `Embeddings`.

    `texts` is the maximum number of texts of one call. `pause` waits for a number of seconds.
    """

    def __init__(
        self,
        model: str,
        router: Router,
        observers: Observers,
        outages: Outages,
        charge: Charge = lambda tenant, target, tokens: None,
        texts: int = MOST_TEXTS,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.model = model
        self._charge = charge
        self._outages = outages
        self._router = router
        self._observers = observers
        self._pause = pause
        self._most_texts = texts
        self._learned: dict[tuple[str, ...], tuple[float, EmbeddingLimits]] = {}
        """By backend and model there, lengths of texts also by tenant, with the time of the last
        lesson.

        The texts of one tenant can have more tokens than estimated: that must not split the texts
        of others.
        """

    async def embed(self, texts: Sequence[str], tenant: str) -> Sequence[bytes]:
        """See `Embeddings.embed`."""
        if (refusal := self._outages.refusal(self.model)) is not None:
            raise refusal
        try:
            found = await self._quickly(texts, tenant)
        except AntiphonError as error:  # most searches during an outage do not come here
            log.warning("Cannot embed a query with the model '%s': %s", self.model, error.gist)
            raise
        return [mean([part.vector for part in parts]) for parts in found]

    async def _quickly(self, texts: Sequence[str], tenant: str) -> Sequence[Sequence[EmbeddedPart]]:
        try:
            async with asyncio.timeout(LONGEST_SEARCH):
                return await self._parts(
                    texts, tenant, QUICK if self._outages.lasts(self.model) is None else 0.0
                )
        except TimeoutError:
            error = BackendError(
                f"The embedding model '{self.model}' did not answer within {LONGEST_SEARCH:.0f} s."
            )
            self._outages.failed(self.model, error)
            raise error from None
        except UnavailableError as error:
            raise error.cause from None

    async def embed_parts(
        self, texts: Sequence[str], tenant: str
    ) -> Sequence[Sequence[EmbeddedPart]]:
        """See `Embeddings.embed_parts`."""
        return await self._parts(texts, tenant, PATIENCE)

    async def _parts(
        self, texts: Sequence[str], tenant: str, patience: float
    ) -> Sequence[Sequence[EmbeddedPart]]:
        fitting = Fitting(texts, before := await self._limits(tenant))
        sizes = set[int]()
        target = None
        while batch := fitting.take():
            try:
                target, vectors = await self._patiently(batch, tenant, patience)
            except _RefusedError as refused:
                if not fitting.refused():
                    raise self._refusal(batch[0], refused.error) from None
                continue
            sizes.update(map(len, vectors))
            if len(sizes) > 1:
                raise self._error("returned vectors of different sizes")
            fitting.accepted(vectors)
        if (
            target is not None and fitting.limits != before
        ):  # a text that is refused at any length teaches nothing
            self._learn(target, tenant, fitting.limits)
        return fitting.parts

    async def _limits(self, tenant: str) -> EmbeddingLimits:
        """Return the limits that every backend of the model accepts: a call can fail over from one
        to another.
        """
        limits = EmbeddingLimits(self._most_texts)
        since = self._outages.now() - RETAINED
        for target in await self._router.registry.candidates(self.model):
            for place in (_place(target), (*_place(target), tenant)):
                learned_at, learned = self._learned.get(place, (since, limits))
                if learned_at > since:
                    limits = limits.both(learned)
        return limits

    def _learn(self, target: ModelTarget, tenant: str, limits: EmbeddingLimits) -> None:
        now = self._outages.now()
        place = _place(target)
        self._learned = {key: one for key, one in self._learned.items() if one[0] > now - RETAINED}
        self._learned[place] = now, EmbeddingLimits(limits.texts)
        if limits.tokens is not None:
            self._learned[*place, tenant] = now, EmbeddingLimits(self._most_texts, limits.tokens)
        length = "" if limits.tokens is None else f", and texts of about {limits.tokens} tokens"
        log.info(
            "The embedding model '%s' at '%s' accepts %d texts in one call%s",
            *(self.model, target.state.name, limits.texts, length),
        )

    async def _patiently(
        self, texts: Sequence[str], tenant: str, patience: float
    ) -> tuple[ModelTarget, list[bytes]]:
        """Embed one batch. Raises `_RefusedError`, and `UnavailableError` once the patience is
        exhausted.
        """
        began = self._outages.now()
        attempts = 0
        while True:
            try:
                target, vectors = await self._call(texts, tenant)
            except AntiphonError as error:
                attempts += 1
                elapsed = self._outages.now() - began
                wait = await self._pause_after(error, attempts, elapsed, patience, tenant)
                log.warning(
                    "Retrying the embedding model '%s' in %.1f s: %s", self.model, wait, error.gist
                )
                await self._pause(wait)
            else:
                self._outages.succeeded(self.model)
                return target, vectors

    async def _pause_after(
        self, error: AntiphonError, attempts: int, elapsed: float, patience: float, tenant: str
    ) -> float:
        """Return the seconds until the next attempt.

        Raises the error, or what `_patiently` raises, after the last one.

        `elapsed` are the seconds since the first of the failed attempts.
        """
        if isinstance(error, _UnusableError) and attempts < ATTEMPTS:
            return 0.0
        if isinstance(error, _UnusableError) or _is_final(error):
            raise error
        wait = max(wait_of(error.headers) or 0.0, backoff(elapsed))
        is_last = elapsed + wait > patience
        if _is_doubtful(error) and (attempts > 1 or is_last) and await self._works(tenant):
            raise _RefusedError(error) from None
        if not _is_limit(error) or (is_last and patience >= PATIENCE):
            self._outages.failed(self.model, error, wait)
        if is_last:
            raise UnavailableError(error) from None
        return wait

    async def _works(self, tenant: str) -> bool:
        """Whether the server embeds a tiny text: then a failure concerns the texts of the call that
        failed.
        """
        try:
            await self._call([_TINY], tenant)
        except (AntiphonError, _RefusedError):
            return False
        return True

    async def _call(self, texts: Sequence[str], tenant: str) -> tuple[ModelTarget, list[bytes]]:
        route = await self._router.route(self.model, tenant=tenant)
        request = {"input": texts, "encoding_format": "float"}

        def body(target: ModelTarget) -> bytes:
            return _encode({"model": target.model, **request})

        def record(target: ModelTarget) -> ObservedCall:
            return ObservedCall(None, target, request, "embeddings")

        upstream, answer = await call(
            route, "/embeddings", body, self._observers, record, _whole, on_refusal=_raise_refusal
        )
        try:
            upstream.spoke()
            upstream.succeeded()
        finally:
            await upstream.close()
        try:
            reply = _decode(answer)
        except msgspec.MsgspecError:
            raise self._error("did not return embeddings") from None
        self._charge(tenant, upstream.target, _tokens(reply.usage, texts))
        return upstream.target, await self._vectors(reply.data, len(texts))

    async def _vectors(self, data: Sequence[_Embedding], count: int) -> list[bytes]:
        if len(data) != count or sorted(one.index for one in data) != list(range(count)):
            raise self._error(f"returned {len(data)} vectors for {count} texts")
        vectors: list[bytes] = []
        for place, one in enumerate(sorted(data, key=lambda one: one.index), 1):
            if (vector := unit(one.embedding)) is None:
                raise self._error("returned a vector of length 0")
            vectors.append(vector)
            self._most_texts = min(self._most_texts, max(1, MOST_NUMBERS // len(one.embedding)))
            if not place % AT_ONCE:
                await asyncio.sleep(0)
        return vectors

    def _error(self, what: str) -> BackendError:
        return _UnusableError(
            f"The embedding model '{self.model}' {what}. Check the setting `search_embeddings`."
        )

    def _refusal(self, text: str, error: AntiphonError) -> BackendError:
        what = (
            f"The embedding model '{self.model}' refused a text of about "
            f"{estimate_tokens(text)} tokens"
        )
        return BackendError(f"{what}: {error.message}", gist=f"{what}: {error.gist}")


def _place(target: ModelTarget) -> tuple[str, str]:
    return target.state.name, target.model


def _raise_refusal(refusal: BackendRefusal) -> bytes | None:
    """Raise the error of an answer of 400 or above, or `_RefusedError` if smaller texts can avoid
    it.
    """
    error = refusal.error
    if isinstance(error, BackendError):
        error.refusal = refusal.status, refusal.body
    elif error.code != "model_not_found" and (error.status != 429 or error.type == "tokens"):
        raise _RefusedError(error)
    raise error


def _is_limit(error: AntiphonError) -> bool:
    """Whether the server is only busy."""
    return error.status == 429 or error.code == "server_is_overloaded"


def _is_final(error: AntiphonError) -> bool:
    return isinstance(error, ClientError) and error.status != 429


def _is_doubtful(error: AntiphonError) -> bool:
    """Whether the texts may have caused a failure: a 500 (Ollama, llama.cpp), or an answer that
    broke off.
    """
    if not isinstance(error, BackendError) or _is_limit(error) or isinstance(error, _UnusableError):
        return False
    return error.is_broken if error.refusal is None else error.refusal[0] not in _AWAY


def _tokens(usage: Any, texts: Sequence[str]) -> int:
    """Return the tokens that a backend reports, else an estimate from the texts."""
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) and tokens > 0 else sum(map(estimate_tokens, texts))


async def _whole(reply: Reply) -> bytes:
    return await reply.read(LARGEST_REPLY)
