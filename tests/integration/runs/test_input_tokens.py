"""Counting input: by the backend where it can, else from here."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiktoken

from antiphon.gateway.parts import Parts
from antiphon.protocol.validation.validate import decode_count
from antiphon.runs import input_tokens
from antiphon.runs.input_tokens import Count, count_input_tokens
from antiphon.translation.to_chat_completions.tokens import MEDIUM, tokens_of
from antiphon.upstream.http import HttpBackend
from tests.support.parts import plain, query, scripted_parts
from tests.support.replay import JSON, Answer, ReplayBackend
from tests.support.server import serve

PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}


async def count(parts: Parts, **body: Any) -> Count:
    return await count_input_tokens(
        parts.run, decode_count(msgspec.json.encode({"model": "m", "input": "Hi", **body}))
    )


Paths = dict[str, Callable[[dict[str, Any]], Any]]


async def requested(
    paths: Paths, dialect: str, **body: Any
) -> tuple[Count, list[str], ReplayBackend]:
    """Count at a backend that knows these paths; the count, the paths that were asked for, and the
    backend.
    """
    replay = ReplayBackend(lambda request: Answer([b"never"]))

    def script(request: dict[str, Any]) -> Answer:
        path = replay.heads[-1].split()[1].decode()
        if path not in paths:
            return Answer([b'{"error": {"message": "File Not Found"}}'], JSON, status=404)
        stated = paths[path](request)
        return stated if isinstance(stated, Answer) else Answer([json.dumps(stated).encode()], JSON)

    replay.script = script
    async with (
        replay.serve(),
        serve(HttpBackend("b", replay.url), dialects={"b": dialect}) as server,
    ):
        created = await count(server.parts, **body)
    return created, [head.split()[1].decode() for head in replay.heads], replay


async def test_llama_cpp_counts_a_chat_request() -> None:
    created, paths, replay = await requested(
        {
            "/v1/chat/completions/input_tokens": lambda request: {
                "object": "response.input_tokens",
                "input_tokens": 31,
            }
        },
        "llamacpp",
        instructions="Be brief.",
        tools=[TOOL],
    )

    assert created == Count(31, True)
    assert paths == ["/v1/chat/completions/input_tokens"]
    assert [message["role"] for message in replay.requests[0]["messages"]] == ["system", "user"]
    assert replay.requests[0]["tools"][0]["function"]["name"] == "look"


async def test_an_older_llama_cpp_writes_the_prompt_out_and_cuts_it() -> None:
    created, paths, replay = await requested(
        {
            "/apply-template": lambda request: {
                "prompt": f"<|user|>{request['messages'][0]['content']}"
            },
            "/tokenize": lambda request: {"tokens": [1, 2, 3, 4]},
        },
        "llamacpp",
    )

    assert created == Count(4, True)
    assert paths == ["/v1/chat/completions/input_tokens", "/apply-template", "/tokenize"]
    assert replay.requests[-1] == {
        "content": "<|user|>Hi",
        "add_special": True,
        "parse_special": True,
    }


async def test_vllm_cuts_messages() -> None:
    created, paths, replay = await requested(
        {"/tokenize": lambda request: {"count": 12, "max_model_len": 4096, "tokens": [0] * 12}},
        "vllm",
        tools=[TOOL],
        reasoning={"effort": "low"},
        text={"verbosity": "low"},
    )

    assert created == Count(12, True)
    assert paths == ["/tokenize"]
    assert replay.requests[0].keys() == {
        *("model", "messages", "tools"),
        *("add_generation_prompt", "chat_template_kwargs"),
    }
    assert replay.requests[0]["chat_template_kwargs"] == {"reasoning_effort": "low"}


async def test_no_tokenizer_counts_pictures() -> None:
    content = [
        {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, PICTURE]}
    ]

    created, _, _ = await requested(
        {"/tokenize": lambda request: {"count": 12}}, "vllm", input=content
    )

    assert created == Count(12 + MEDIUM, False)


NONSENSE: dict[str, Paths] = {
    "nothing": {},
    "no JSON": {
        "/v1/chat/completions/input_tokens": lambda request: Answer([b"<html>"], "text/html")
    },
    "an error": {
        "/v1/chat/completions/input_tokens": lambda request: Answer(
            [b'{"input_tokens": 1}'], status=500
        )
    },
    "a word": {"/v1/chat/completions/input_tokens": lambda request: {"input_tokens": "many"}},
    "less than nothing": {
        "/v1/chat/completions/input_tokens": lambda request: {"input_tokens": -1}
    },
    "a list": {"/v1/chat/completions/input_tokens": lambda request: [1]},
    "half an answer": {
        "/v1/chat/completions/input_tokens": lambda request: Answer([b'{"inp'], JSON, cut=True)
    },
    "a prompt alone": {"/apply-template": lambda request: {"prompt": "x"}},
    "a prompt that is none": {"/apply-template": lambda request: {"prompt": 7}},
    "tokens that are none": {
        "/apply-template": lambda request: {"prompt": "x"},
        "/tokenize": lambda request: {"tokens": 7},
    },
}


@pytest.mark.parametrize("paths", NONSENSE.values(), ids=NONSENSE)
async def test_a_backend_that_does_not_count_is_no_failure(paths: Paths) -> None:
    created, _, replay = await requested(paths, "llamacpp")

    assert created == Count(tokens_of(replay.requests[0]), False)


async def test_a_backend_without_output_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_tokens, "PATIENCE", 0.05)
    silent = Answer([], JSON, wait=asyncio.Event())

    created, _, _ = await requested({"/tokenize": lambda request: silent}, "vllm")

    assert not created.is_exact


async def test_a_backend_of_another_family_is_not_requested() -> None:
    created, paths, _ = await requested({}, "generic")

    assert (created.is_exact, paths) == (False, [])
    assert created.input_tokens > 0


async def test_the_history_counts_and_nothing_is_stored() -> None:
    created, _ = scripted_parts(plain("A long answer to a short question."))
    first = await query(created)
    alone = await count(created)

    chained = await count(created, previous_response_id=first["id"])
    again = await count(created, previous_response_id=first["id"])

    assert chained.input_tokens > alone.input_tokens + 8
    assert chained == again


@pytest.fixture
def bytes_as_tokens() -> Iterator[None]:
    """A vocabulary at hand in which every byte is a token, under the names of the real ones."""
    ranks = {bytes([number]): number for number in range(256)}
    for name in ("o200k_base", "cl100k_base"):
        tiktoken.registry.ENCODINGS[name] = tiktoken.Encoding(
            name, pat_str=r"\s+|\S+", mergeable_ranks=ranks, special_tokens={}
        )
    yield
    for name in ("o200k_base", "cl100k_base"):
        del tiktoken.registry.ENCODINGS[name]


async def openai(model: str, dialect: str = "openai", **body: Any) -> Count:
    replay = ReplayBackend(lambda request: Answer([b"never"]))
    replay.models = [{"id": model, "object": "model", "created": 1, "owned_by": "system"}]
    async with (
        replay.serve(),
        serve(HttpBackend("b", replay.url), dialects={"b": dialect}) as server,
    ):
        return await count(server.parts, model=model, **body)


@pytest.mark.usefixtures("bytes_as_tokens")
async def test_openais_models_are_counted_with_their_vocabulary() -> None:
    assert await openai("gpt-4o", input="12345") == Count(3 + 4 + 5, True)
    assert await openai("gpt-5-mini", "azure", input="12345") == Count(2 + 4 + 5, True)
    assert await openai("gpt-35-turbo", "azure", input="12345") == Count(3 + 4 + 5, True)


@pytest.mark.usefixtures("bytes_as_tokens")
async def test_a_vocabulary_without_a_known_template_is_an_estimate() -> None:
    assert not (await openai("gpt-4o", tools=[TOOL])).is_exact
    assert await openai("my-deployment", "azure", input="12345") == Count(12, False)
    assert await openai("llama-3", "groq", input="12345") == Count(12, False)
    assert await openai("gpt-4o", "openrouter", input="12345") == Count(12, False)


@pytest.mark.usefixtures("bytes_as_tokens")
async def test_what_is_very_large_is_counted_by_its_size() -> None:
    assert await openai("gpt-4o", input="a" * 1_000_001) == Count(3 + 4 + 250_001, False)


@pytest.mark.parametrize("content", [None, b"damaged"])
async def test_vocabularies_are_never_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    cached = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    if content is not None:
        cached.write_bytes(content)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(
        "tiktoken.load.read_file", lambda path: pytest.fail(f"{path} was to be downloaded")
    )

    created = await openai("gpt-4o")

    assert created == Count(3 + 4 + 1, False)
    assert cached.exists() == (content is not None)


async def test_without_a_cache_nothing_is_downloaded_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setattr(
        "tiktoken.load.read_file", lambda path: pytest.fail(f"{path} was to be downloaded")
    )

    assert await openai("gpt-4o") == Count(3 + 4 + 1, False)


async def test_without_the_package_it_is_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tiktoken", None)

    assert await openai("gpt-4o") == Count(3 + 4 + 1, False)
