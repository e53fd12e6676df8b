"""Asks a backend for its reports outside the API. Nothing is generated for them."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from antiphon.errors import BackendError
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.backend import Backend, Reply
from antiphon.upstream.probing.descriptions import LLAMACPP_PROPS, DescriptionRequest, describe

LARGEST = 4 * 1024 * 1024
"""Bytes of a report that are read."""

PATIENCE = 10.0
"""Seconds that a backend has for a report."""

AT_FIRST = DescriptionRequest(LLAMACPP_PROPS)
"""The report that the first request already depends on: a template of llama.cpp that renders no
tools drops them.
"""


async def run_probe(backend: Backend, question: DescriptionRequest, model: str) -> Any:
    """Return a backend's report, a JSON value; None if it has none, or does not answer."""
    try:
        async with asyncio.timeout(PATIENCE):
            body = msgspec.json.encode({"model": model, **question.body})
            reply: Reply = await (
                backend.post(question.path, body)
                if question.is_post
                else backend.get(question.path)
            )
            try:
                return json.loads(await reply.read(LARGEST)) if reply.status == 200 else None
            finally:
                await reply.close()
    except (BackendError, TimeoutError, ValueError, RecursionError):
        return None


async def form_of_tools(backend: Backend, listed: Mapping[str, Any]) -> ModelProfile | None:
    """Return how llama.cpp's only model is offered tools, as far as it reports that; None if it
    does not answer.
    """
    model = str(listed["id"])
    answer = await run_probe(backend, AT_FIRST, model)
    if not isinstance(answer, dict):
        return None
    return ModelProfile(
        tools=describe("llamacpp", model, listed, {AT_FIRST.key: answer}).profile.tools
    )
