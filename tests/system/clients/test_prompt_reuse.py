"""How much of each prompt a local backend has read before, over a session of Codex, unmodified."""

import json
from collections.abc import AsyncIterator
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.system.clients.codex import PROMPT, Codex
from tests.system.clients.model import Call, Model, Turn
from tests.system.clients.relay import Relay

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

TURNS = 30


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def acting() -> AsyncIterator[Model]:
    """A model that the server takes for one of llama.cpp."""
    model = Model()
    model.models = [{**one, "owned_by": "llamacpp"} for one in model.models]
    async with model.serve():
        yield model


def prompt(body: dict[str, Any]) -> str:
    return json.dumps(body["tools"]) + json.dumps(body["messages"])[:-1]


def shared(before: str, new: str) -> int:
    """How many characters both begin with."""
    pairs = zip(before, new, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(before), len(new)))


@pytest.mark.parametrize("websockets", [False, True])
async def test_thirty_requests_of_codex_reuse_95_percent_of_their_prompts(
    wire: Relay, model: Model, url: str, tmp_path: Path, websockets: bool
) -> None:
    model.cue = PROMPT
    polls = [
        Turn(calls=(Call("exec_command", {"cmd": f"seq {n} {n + 40}"}),), reasoning="I look.")
        for n in range(29)
    ]
    model.play(*polls, Turn("Done."))

    run = await Codex.within(tmp_path, wire.url).run(websockets=websockets)

    prompts = [prompt(body) for body in model.requests if PROMPT in json.dumps(body["messages"])]
    async with (
        aiohttp.ClientSession() as http,
        http.get(url.removesuffix("/v1") + "/status") as reply,
    ):
        (status,) = (await reply.json())["backends"]
    assert run.stated == ["Done."]
    assert len(prompts) == TURNS
    assert sum(starmap(shared, pairwise(prompts))) >= 0.95 * sum(map(len, prompts[1:]))
    assert (status["dialect"], status["prompt_breaks"], status["last_prompt_break"]) == (
        "llamacpp",
        0,
        "",
    )
    assert (
        status["prompt_reused_bytes"] >= 0.9 * status["prompt_bytes"]
    )  # the first prompt counts, too
