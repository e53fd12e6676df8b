"""A server in front of a model that makes embeddings, judged by what is asked of embeddings."""

import base64
import struct
from typing import Any

import pytest

from antiphon.upstream.scripted import ScriptedBackend
from antiphon_verify.choice import chosen
from antiphon_verify.judging import Plan, judge
from tests.support.server import serve


def embedding_of(text: str, *, is_base64: bool) -> Any:
    vector = [len(text) / 100, text.count("a") / 10, 0.5]
    return base64.b64encode(struct.pack("<3f", *vector)).decode() if is_base64 else vector


def embedded(request: dict[str, Any]) -> dict[str, Any]:
    inputs = [request["input"]] if isinstance(request["input"], str) else request["input"]
    is_base64 = request.get("encoding_format") == "base64"
    vectors = [embedding_of(text, is_base64=is_base64) for text in inputs]
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    return {
        "object": "list",
        "model": "e",
        "data": data,
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    }


async def outcomes(script: Any) -> dict[str, str]:
    async with serve(ScriptedBackend(script, models=["e"])) as server:
        plan = Plan(base_url=server.url, model="e", requirements=chosen(only=["chat:embeddings"]))
        return {one.id: one.outcome for one in (await judge(plan)).results}


async def test_all_embedding_requests_pass_through_the_server() -> None:
    found = await outcomes(embedded)
    assert len(found) == 8
    assert set(found.values()) == {"passed"}


@pytest.mark.parametrize("flaw", ["index", "embedding"])
async def test_embeddings_without_a_field_are_a_breach(flaw: str) -> None:
    def script(request: dict[str, Any]) -> dict[str, Any]:
        answer = embedded(request)
        for one in answer["data"]:
            del one[flaw]
        return answer

    assert (await outcomes(script))["chat:embeddings:several"] == "failed"
