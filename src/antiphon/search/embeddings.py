"""Computes embeddings with a model of this server's backends: routed, limited and measured like other calls."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.errors import BackendError, log
from antiphon.search.chunking import estimate_tokens
from antiphon.search.vectors import unit
from antiphon.telemetry.observers import Call, Observers
from antiphon.upstream.backend import Reply
from antiphon.upstream.backend_state import Target
from antiphon.upstream.call import call
from antiphon.upstream.router import Router

MOST_TEXTS, MOST_CHARACTERS = 64, 128 * 1024
"""Texts of one call, and their total characters unless it is a single text."""

LARGEST_REPLY = 32 * 1024 * 1024
"""Maximum bytes of a reply with vectors."""

AT_ONCE = 8
"""Vectors that are normalized before other tasks run: each takes about 0.2 ms."""

Charge = Callable[[str, Target, int], None]
"""Charges a tenant for tokens that a model at a backend has read."""

PAUSES = (0.5, 2.0)
"""Seconds before the retries of a call that no backend answered; after them it fails."""


class _Embedding(Struct):
    embedding: list[float]
    index: int = 0


class _Embeddings(Struct):
    data: list[_Embedding]
    usage: Any = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Embeddings).decode


class Embedder:
    """Computes embeddings with one model. See `Embeddings`."""

    def __init__(
        self,
        model: str,
        router: Router,
        observers: Observers,
        pauses: Sequence[float] = PAUSES,
        charge: Charge = lambda tenant, target, tokens: None,
    ) -> None:
        self.model, self._charge = model, charge
        self._router, self._observers, self._pauses = router, observers, pauses

    async def embed(self, texts: Sequence[str], tenant: str) -> Sequence[bytes]:
        """Return a vector of length 1 for each text, in 16-bit floats.

        Raises `AntiphonError` if no backend returns vectors, after two retries.
        """
        vectors: list[bytes] = []
        for batch in batches(texts):
            vectors += await self._patiently(batch, tenant)
        if len({len(vector) for vector in vectors}) > 1:
            raise self._error("returned vectors of different sizes")
        return vectors

    async def _patiently(self, texts: Sequence[str], tenant: str) -> list[bytes]:
        for pause in self._pauses:
            try:
                return await self._embed(texts, tenant)
            except BackendError as error:
                log.warning("Retrying the embedding model '%s': %s", self.model, error.gist)
                await asyncio.sleep(pause)
        return await self._embed(texts, tenant)

    async def _embed(self, texts: Sequence[str], tenant: str) -> list[bytes]:
        route = await self._router.route(self.model, tenant=tenant)
        request = {"input": texts, "encoding_format": "float"}

        def body(target: Target) -> bytes:
            return _encode({"model": target.model, **request})

        def record(target: Target) -> Call:
            return Call(None, target, request, "embeddings")

        upstream, answer = await call(route, "/embeddings", body, self._observers, record, _whole)
        try:
            upstream.spoke()
            upstream.succeeded()
        finally:
            await upstream.close()
        try:
            told = _decode(answer)
        except msgspec.MsgspecError:
            raise self._error("did not return embeddings") from None
        self._charge(tenant, upstream.target, _tokens(told.usage, texts))
        return await self._vectors(told.data, len(texts))

    async def _vectors(self, data: Sequence[_Embedding], count: int) -> list[bytes]:
        if len(data) != count or sorted(one.index for one in data) != list(range(count)):
            raise self._error(f"returned {len(data)} vectors for {count} texts")
        vectors: list[bytes] = []
        for place, one in enumerate(sorted(data, key=lambda one: one.index), 1):
            if (vector := unit(one.embedding)) is None:
                raise self._error("returned a vector of length 0")
            vectors.append(vector)
            if not place % AT_ONCE:
                await asyncio.sleep(0)
        return vectors

    def _error(self, what: str) -> BackendError:
        return BackendError(f"The embedding model '{self.model}' {what}. Check the setting `search_embeddings`.")


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in batches that fit into one call."""
    part: list[str] = []
    size = 0
    for text in texts:
        if part and (len(part) == MOST_TEXTS or size + len(text) > MOST_CHARACTERS):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part


def _tokens(usage: Any, texts: Sequence[str]) -> int:
    """Return the tokens that a backend reports, else an estimate from the texts."""
    told = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return told if isinstance(told, int) and told > 0 else sum(map(estimate_tokens, texts))


async def _whole(reply: Reply) -> bytes:
    return await reply.read(LARGEST_REPLY)
