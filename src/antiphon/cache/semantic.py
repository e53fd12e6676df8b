"""Questions that mean the same: the last message of the user is compared by an embedding, everything else exactly.

The vectors of one question's siblings, those with the same everything else, lie in one row beside the answers.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from antiphon.cache.key import cache_key, parted
from antiphon.cache.vectors import Entry, from_bytes, nearest, to_bytes, unit, with_entry
from antiphon.errors import AntiphonError, BackendError, log
from antiphon.ids import Clock
from antiphon.protocol.items.content import Item
from antiphon.protocol.requests import CreateResponse
from antiphon.storage.contract import Store, StoredAnswer
from antiphon.upstream.backend import Reply
from antiphon.upstream.backend_state import Target
from antiphon.upstream.call import Unobserved, call
from antiphon.upstream.router import Router

LONGEST_TEXT = 8_000
"""Characters of a message beyond which it is not compared: embeddings know nothing of what comes after."""

LONGEST_WAIT = 5.0
"""Seconds that a vector may take; then the model is asked without."""

LARGEST = 4 * 1024 * 1024
"""Bytes of a reply with a vector."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """The model that makes vectors, and the cosine from which two questions mean the same."""

    model: str
    threshold: float = 0.95


@dataclass(frozen=True, slots=True)
class Question:
    """One tenant's question: its vector, and the key of everything else that was asked with it."""

    tenant: str
    rest: bytes
    vector: bytes


class _Embedding(Struct):
    embedding: list[float]


class _Embeddings(Struct):
    data: list[_Embedding]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Embeddings).decode


class Similar:
    """All questions whose answers are kept. Trouble is logged; then no question is similar."""

    def __init__(self, store: Store, router: Router, now: Clock, similarity: Similarity) -> None:
        self._store, self._router, self._now = store, router, now
        self._similarity = similarity
        self._noting = asyncio.Lock()

    async def question(
        self, secret: bytes, tenant: str, request: CreateResponse, items: Sequence[Item]
    ) -> Question | None:
        """Return what is asked as it can be compared, None where it cannot."""
        text, others = parted(items)
        if not text or len(text) > LONGEST_TEXT:
            return None
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                vector = await self._embed(text, tenant)
        except (AntiphonError, TimeoutError) as error:
            log.warning("No similar question was looked for: %s", error or "the embedding takes too long")
            return None
        rest = cache_key(secret, tenant, request, others, "similar", self._similarity.model)
        return Question(tenant, rest, vector)

    async def find(self, question: Question) -> tuple[bytes, float] | None:
        """Return the key of the answer to the question that is most like this one, with their cosine.

        None where none is like it. Raises `StoreError`.
        """
        found = nearest(await self._entries(question), question.vector)
        return (found[0].key, found[1]) if found and found[1] >= self._similarity.threshold else None

    async def note(self, question: Question, key: bytes, ttl: int) -> None:
        """Note that the answer to this question is kept under the key. Raises `StoreError`."""
        async with self._noting:
            body = to_bytes(with_entry(await self._entries(question), Entry(key, question.vector)))
            now = int(self._now())
            await self._store.keep_answer(StoredAnswer(question.tenant, question.rest, body, now, now + ttl))

    async def _entries(self, question: Question) -> list[Entry]:
        return from_bytes(await self._store.find_answer(question.tenant, question.rest))

    async def _embed(self, text: str, tenant: str) -> bytes:
        """Return a text's vector. Raises `AntiphonError` where there is none."""
        route = await self._router.route(self._similarity.model, tenant=tenant)

        def body(target: Target) -> bytes:
            return _encode({"model": target.model, "input": text, "encoding_format": "float"})

        # A server that makes no vectors says so by all sorts of statuses: it is none the worse as a model's backend.
        upstream, answer = await call(
            route, "/embeddings", body, Unobserved(), lambda _: Unobserved(), _whole, any_status=True
        )
        try:
            if upstream.reply.status >= 400:
                raise BackendError(f"The embedding model answered with status {upstream.reply.status}.")
            upstream.succeeded()
        finally:
            await upstream.close()
        return _vector(answer)


async def _whole(reply: Reply) -> bytes:
    return await reply.read(LARGEST)


def _vector(answer: bytes) -> bytes:
    try:
        vector = unit(_decode(answer).data[0].embedding)
    except (msgspec.MsgspecError, IndexError):
        vector = None
    if vector is None:
        raise BackendError("The embedding model answered no vector.")
    return vector
