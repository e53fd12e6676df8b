"""What llama.cpp's own server does, and what its clients see behind Antiphon.

This is the evidence for its row in `translation/dialects/`, and for what a probe reads from
`/props` and `/apply-template`. The templates are those of real models: llama.cpp's source has them.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from antiphon.translation.dialects.table import DIALECTS
from antiphon_verify.reading import fits
from tests.support.command import antiphon
from tests.system.model_servers.requests import (
    FOR_EVER,
    PLACE,
    deltas_of,
    raw_events,
    stream,
    text_of,
)
from tests.system.model_servers.servers import CONTEXT, LLAMA_SERVER, ModelServer, running
from tests.system.model_servers.test_llama_cpp import SCHEMAS, TOO_LONG, form

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize(
        "server", [LLAMA_SERVER], ids=[LLAMA_SERVER.name], indirect=True, scope="session"
    ),
]

MODEL = LLAMA_SERVER.model
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # noqa: E501 - one text, or a row of a table
IMAGE = f"data:image/png;base64,{PIXEL}"

TEMPLATES: dict[str, bool | None] = {
    "Qwen-Qwen3-0.6B": False,
    "GLM-4.6": False,
    "Qwen-Qwen2.5-7B-Instruct": True,
    "Qwen3-Coder": True,
    "meta-llama-Llama-3.1-8B-Instruct": True,
    "google-gemma-2-2b-it": None,
}
"""Whether a template writes a turn as before once another follows; None if it has no place for a
tool's output.
"""


async def probed(home: Path, server: ModelServer) -> dict[str, Any]:
    """Probe the model of a server; return its profile."""
    store = f"sqlite:///{home}/antiphon.db"
    done = await antiphon(
        home, "models", "probe", MODEL, "--backend", server.url, "--store", store, "--json"
    )
    (found,) = json.loads(done.out)
    profile: dict[str, Any] = found["profile"]
    return profile


async def test_a_probe_finds_what_its_row_and_the_server_state(
    server: ModelServer, tmp_path: Path
) -> None:
    profile = await probed(tmp_path, server)
    row = DIALECTS[LLAMA_SERVER.name]

    assert set(profile["json_formats"]) <= row.json_formats
    assert profile["late_system"] is (row.system_messages != "first")
    assert (profile["usage"], profile["streamed_usage"]) == (True, "stream_options" in row.accepts)
    assert (profile["context_window"], profile["vision"], profile["json_held"]) == (
        CONTEXT,
        False,
        True,
    )
    assert (profile["stable_template"], profile["rejected_keywords"]) == (True, [])


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_probe_finds_whether_a_template_rewrites_earlier_turns(
    server: ModelServer, tmp_path: Path, name: str
) -> None:
    (template,) = LLAMA_SERVER.home.glob(
        f"llama_cpp_python-*/vendor/llama.cpp/models/templates/{name}.jinja"
    )
    kind = replace(
        LLAMA_SERVER, command=(*LLAMA_SERVER.command, "--chat-template-file", str(template))
    )
    async with running(kind, tmp_path) as other:
        profile = await probed(tmp_path, other)

    assert profile.get("stable_template") is TEMPLATES[name]


async def test_it_is_identified_by_the_owner_of_its_models(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    assert {model.owned_by async for model in sdk.models.list()} == {"llamacpp"}


async def test_a_streamed_text_and_its_tokens_arrive(sdk: AsyncOpenAI, server: ModelServer) -> None:
    events = await stream(sdk, model=MODEL, input=FOR_EVER, max_output_tokens=40)
    response = events[-1]["response"]

    assert (events[-1]["type"], deltas_of(events)) == ("response.incomplete", text_of(response))
    assert response["usage"]["output_tokens"] == 40


async def test_tokens_that_its_cache_has_are_reported(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    first = await sdk.responses.create(model=MODEL, input="harbour " * 100)
    again = await sdk.responses.create(model=MODEL, input="harbour " * 100)

    assert first.usage is not None
    assert again.usage is not None
    assert again.usage.input_tokens_details.cached_tokens >= 0.95 * first.usage.input_tokens


# Structured output.


@pytest.mark.parametrize("name", SCHEMAS)
async def test_even_noise_fits_a_schema(sdk: AsyncOpenAI, server: ModelServer, name: str) -> None:
    requested: Any = {"model": MODEL, "input": "Where to?", "text": form(SCHEMAS[name])}
    plain = await sdk.responses.create(**requested)
    streamed = (await stream(sdk, **requested))[-1]["response"]

    assert (plain.status, streamed["status"]) == ("completed", "completed")
    assert fits(json.loads(plain.output_text), SCHEMAS[name])
    assert fits(json.loads(text_of(streamed)), SCHEMAS[name])


@pytest.mark.parametrize("pattern", ["^\\d{9}$", "^[0-9]{9}"], ids=["class", "anchor"])
async def test_a_pattern_that_it_silently_ignores_is_checked_and_the_answer_requested_again(
    front: str, server: ModelServer, pattern: str
) -> None:
    """Noise never fits such a pattern: the stream fails after the second attempt."""
    schema = PLACE | {"properties": {"place": {"type": "string", "pattern": pattern}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    status, body = await server.send_request("Where to?", response_format=wanted)
    own = json.loads(json.loads(body)["choices"][0]["message"]["content"])["place"]
    events = [
        event
        async for event in raw_events(front, model=MODEL, input="Where to?", text=form(schema))
    ]

    assert (status, re.search(pattern, own)) == (200, None)
    assert events[-1]["type"] == "response.failed"
    assert "A second attempt did not fit it either" in events[-1]["response"]["error"]["message"]


# What it rejects.


async def test_a_bad_image_is_the_clients_mistake_although_the_server_reports_its_own_failure(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    status, body = await server.post(
        messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE}}]}]
    )
    part: Any = {"type": "input_image", "image_url": IMAGE}
    with pytest.raises(openai.BadRequestError) as caught:
        await sdk.responses.create(model=MODEL, input=[{"role": "user", "content": [part]}])

    assert (status, b"image input is not supported" in body) == (500, True)
    assert (caught.value.code, caught.value.param) == ("unsupported_value", "input")
    assert "does not accept images" in caught.value.message


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_an_input_that_is_too_long_is_reported(
    sdk: AsyncOpenAI, server: ModelServer, is_streamed: bool
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await sdk.responses.create(model=MODEL, input=TOO_LONG, stream=is_streamed)

    assert caught.value.code == "context_length_exceeded"
