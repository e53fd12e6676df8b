"""The number of tokens the model would see: from its own backend if it counts them,
else the best estimate here.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.errors import BackendError
from antiphon.history.context import Context, load_context
from antiphon.packages import load_optional
from antiphon.protocol.requests import CreateResponse
from antiphon.runs.parts import RunParts
from antiphon.runs.translated import translated
from antiphon.translation.to_chat_completions.prefix import encode_body
from antiphon.translation.to_chat_completions.tokens import (
    COUNTS_MEDIA,
    PRIMING,
    WAYS,
    Way,
    by_responses,
    is_plain,
    media_tokens,
    tokens_of,
)
from antiphon.translation.to_responses.request import countable
from antiphon.upstream.backend import Backend
from antiphon.upstream.backend_state import ModelTarget

FILES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""A vocabulary's name -> its file's name in tiktoken's cache, and the SHA-256 of its content.

tiktoken downloads a file that is missing or damaged, so it is called only if the file is valid.
"""

NEWEST = "o200k_base"


def vocabulary_of(model: str) -> str | None:
    """Return the name of a model's vocabulary, None if the model is not OpenAI's,
    or tiktoken is not installed.
    """
    models = load_optional("tiktoken.model")
    if models is None:
        return None
    try:
        name: str = models.encoding_name_for_model(model)
    except KeyError:
        return None
    return name


def tokens_by(name: str) -> Callable[[str], int] | None:
    """Return a function that counts the tokens of a text in a vocabulary; None if its data
    is not available.
    """
    tiktoken = load_optional("tiktoken")
    if tiktoken is None:
        return None
    if name not in tiktoken.registry.ENCODINGS and not _is_at_hand(name):
        return None
    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode_ordinary(text))


def _is_at_hand(name: str) -> bool:
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        import tempfile  # noqa: PLC0415 - as above

        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    file, digest = FILES.get(name, ("", ""))
    return bool(folder and file) and _digest(Path(folder) / file) == digest


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


PATIENCE = 5.0
"""Seconds that a backend has for one way of counting."""

Encode = Callable[[dict[str, Any]], Awaitable[bytes]]
"""Returns a request to a backend as JSON."""

LARGEST = 1_000_000
"""Characters of messages up to which tiktoken counts them: it needs about a second
for this many.
"""

OPENAI = {"openai", "azure"}
"""Families that serve OpenAI's models; the vocabularies of these are public."""

PRIMINGS = {"gpt-3": 3, "gpt-4": 3, "o3": 2, "o4": 2, "gpt-5": 2}
"""Prefix of a model's name -> the tokens that open its answer. Recordings:
14 for gpt-4o are 13 for gpt-5.
"""


@dataclass(frozen=True, slots=True)
class Count:
    """A number of tokens; `is_exact` if the model's own template and tokenizer produced it."""

    input_tokens: int
    is_exact: bool


async def count_input_tokens(
    parts: RunParts, request: CreateResponse, tenant: str = "", size: int = 0
) -> Count:
    """Return the input tokens that a response to this request of `size` bytes would be charged;
    nothing is generated or stored.

    Raises `ClientError` for a request that would be rejected before the model is called; a backend
    that cannot count is not an error.
    """
    context = await load_context(parts.history, request, tenant, work=size)
    try:
        return await _count(parts, request, context)
    finally:
        context.release()


async def _count(parts: RunParts, request: CreateResponse, context: Context) -> Count:
    tenant = context.tenant

    async def encoded(body: dict[str, Any]) -> bytes:
        size = context.work_with_chain
        return await parts.offload.run(tenant, size, encode_body, body, size)

    candidates = await parts.models.candidates(request.model)
    if candidates.preset is not None:
        request = candidates.preset.applied_to(request)
    found = await translated(parts, request, context, candidates[0])
    target = found.target
    body = {**found.body, "model": target.model}
    if found.api == "responses":
        count = await _count_at(target.backend, encoded, by_responses, body)
        if count is not None:
            return Count(count, is_exact=True)
        return await parts.offload.in_thread(tenant, _worked_out, countable(body), target)
    for way in WAYS.get(target.dialect.name, ()):
        count = await _count_at(target.backend, encoded, way, body)
        if count is not None:
            media = 0 if target.dialect.name in COUNTS_MEDIA else media_tokens(body)
            return Count(count + media, not media)
    return await parts.offload.in_thread(tenant, _worked_out, body, target)


async def _count_at(backend: Backend, encode: Encode, way: Way, body: dict[str, Any]) -> int | None:
    """Return the number from the backend, None if it returns none."""
    steps = way(body)
    try:
        async with asyncio.timeout(PATIENCE):
            request = next(steps)
            while True:
                request = steps.send(
                    await _answer(backend, request.path, await encode(request.body))
                )
    except StopIteration as end:
        count: int | None = end.value
        return count
    except (BackendError, TimeoutError):
        return None


async def _answer(backend: Backend, path: str, body: bytes) -> Any:
    reply = await backend.post(path, body)
    try:
        return json.loads(await reply.read()) if reply.status == 200 else None
    except (ValueError, RecursionError):
        return None
    finally:
        await reply.close()


def _worked_out(body: dict[str, Any], target: ModelTarget) -> Count:
    """Count with OpenAI's vocabulary if it is available, else estimate from the size."""
    is_openai = target.dialect.name in OPENAI
    name = vocabulary_of(target.model) if is_openai else None
    measure = tokens_by(name or NEWEST) if tokens_of(body, len) <= LARGEST else None
    priming = next(
        (tokens for begin, tokens in PRIMINGS.items() if target.model.startswith(begin)), None
    )
    is_known = None not in (name, measure, priming)
    return Count(tokens_of(body, measure, priming or PRIMING), is_known and is_plain(body))
