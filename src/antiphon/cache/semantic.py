"""Similar questions: the last user message is compared by an embedding, everything else exactly.

The vectors of questions that are equal in everything else are in one row, stored with the answers.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from antiphon.cache.key import cache_key, parted
from antiphon.cache.vectors import QuestionEntry, from_bytes, nearest, to_bytes, unit, with_entry
from antiphon.errors import AntiphonError, BackendError, log
from antiphon.ids import Clock
from antiphon.protocol.items.content import Item
from antiphon.protocol.requests import CreateResponse
from antiphon.storage.answers import find_answer
from antiphon.storage.operations import answers
from antiphon.storage.records.tenants import StoredAnswer
from antiphon.storage.store import Store
from antiphon.upstream.backend import Reply
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.call import Unobserved, call
from antiphon.upstream.permitted import is_permitted
from antiphon.upstream.router import Router

LONGEST_TEXT = 8_000
"""Characters of a message beyond which it is not compared: embeddings ignore the rest."""

LONGEST_WAIT = 5.0
"""Timeout of an embedding in seconds; then the model is called without it."""

LARGEST = 4 * 1024 * 1024
"""Bytes of a response with a vector."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """The embedding model, and the cosine from which two questions are similar."""

    model: str
    threshold: float = 0.95


@dataclass(frozen=True, slots=True)
class TenantQuestion:
    """One tenant's question: its vector, and the key of everything else in the request."""

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
    """All questions with cached answers. Errors are logged; then no question is similar."""

    def __init__(self, store: Store, router: Router, now: Clock, similarity: Similarity) -> None:
        self._store = store
        self._router = router
        self._now = now
        self._similarity = similarity
        self._noting = asyncio.Lock()

    async def question(
        self, secret: bytes, tenant: str, request: CreateResponse, items: Sequence[Item]
    ) -> TenantQuestion | None:
        """Return the request in a form that can be compared, None if it cannot."""
        text, others = parted(items)
        if not text or len(text) > LONGEST_TEXT or not is_permitted(self._similarity.model):
            return None
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                vector = await self._embed(text, tenant)
        except (AntiphonError, TimeoutError) as error:
            log.warning(
                "Cannot search the cache for similar requests: %s",
                error or "the embedding takes too long",
            )
            return None
        rest = cache_key(secret, tenant, request, others, "similar", self._similarity.model)
        return TenantQuestion(tenant, rest, vector)

    async def find(self, question: TenantQuestion) -> tuple[bytes, float] | None:
        """Return the key of the answer to the most similar question, with their cosine.

        None if no question is similar. Raises `StoreError`.
        """
        found = nearest(await self._entries(question), question.vector)
        return (
            (found[0].key, found[1]) if found and found[1] >= self._similarity.threshold else None
        )

    async def note(self, question: TenantQuestion, key: bytes, ttl: int) -> None:
        """Record that the answer to this question is stored under the key. Raises `StoreError`."""
        async with self._noting:
            body = to_bytes(
                with_entry(await self._entries(question), QuestionEntry(key, question.vector))
            )
            now = int(self._now())
            await self._store.write(
                answers.put, StoredAnswer(question.tenant, question.rest, body, now, now + ttl)
            )

    async def _entries(self, question: TenantQuestion) -> list[QuestionEntry]:
        return from_bytes(await find_answer(self._store, question.tenant, question.rest))

    async def _embed(self, text: str, tenant: str) -> bytes:
        """Return the vector of a text. Raises `AntiphonError` without one."""
        route = await self._router.route(self._similarity.model, tenant=tenant)

        def body(target: ModelTarget) -> bytes:
            return _encode({"model": target.model, "input": text, "encoding_format": "float"})

        # A server without embeddings reports that by various statuses: that does not count against
        # it as a model's backend.
        upstream, answer = await call(
            route,
            "/embeddings",
            body,
            Unobserved(),
            lambda _: Unobserved(),
            _whole,
            any_status=True,
        )
        try:
            if upstream.reply.status >= 400:
                raise BackendError(
                    f"The embedding model answered with status {upstream.reply.status}."
                )
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
        raise BackendError("The embedding model returned no vector.")
    return vector
