"""Codex, unmodified, with models that break what it asks for: their faults are corrected before it
sees them.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import called, stated
from tests.support.replay import delta, sse
from tests.support.server import serve
from tests.system.clients.codex import Codex

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

MODEL = "local"
SUM = "echo sum-$((40+2))"
SAMPLERS = (
    400,
    {"error": {"code": 400, "message": "Failed to initialize samplers: failed to parse grammar"}},
)
"""llama.cpp#25895."""


@asynccontextmanager
async def behind(
    folder: Path, answers: Sequence[Any]
) -> AsyncIterator[tuple[Codex, ScriptedBackend]]:
    """Codex in front of a local model that gives these answers."""
    wired = [sse(*one) if isinstance(one, list) else one for one in answers]
    backend = ScriptedBackend(wired, models=[MODEL])
    async with serve(backend, dialects={backend.name: "llamacpp"}) as server:
        yield Codex.within(folder, server.url), backend


@pytest.mark.parametrize(
    "broken",
    [
        '{"cmd": "echo "sum-$((40+2))""}',
        f"{{'cmd': '{SUM}'}}",
        f'{{"cmd": "{SUM}",}}',
        f'{{"cmd": "{SUM}"',
        f'```json\n{{"cmd": "{SUM}"}}\n```',
    ],
    ids=["quotes", "single quotes", "comma", "bracket", "fence"],
)
async def test_a_call_with_broken_json_is_run(tmp_path: Path, broken: str) -> None:
    async with behind(tmp_path, [called("exec_command", broken), stated("Done.")]) as (
        codex,
        backend,
    ):
        run = await codex.run(model=MODEL)

    assert "sum-42" in run.printed
    assert run.stated == ["Done."]
    assert len(backend.requests) == 2


async def test_an_irreparable_call_is_requested_again_and_run_once(tmp_path: Path) -> None:
    answers = [
        called("exec_command", '{"cmd": "echo sum'),
        called("exec_command", json.dumps({"cmd": SUM})),
        stated("Done."),
    ]
    async with behind(tmp_path, answers) as (codex, _):
        run = await codex.run(model=MODEL)

    assert [one["aggregated_output"] for one in run.done("command_execution")] == ["sum-42\n"]
    assert run.stated == ["Done."]


async def test_tools_that_make_no_grammar_are_sent_weaker(tmp_path: Path) -> None:
    answers = [SAMPLERS, called("exec_command", json.dumps({"cmd": SUM})), stated("Done.")]
    async with behind(tmp_path, answers) as (codex, backend):
        run = await codex.run(model=MODEL)

    assert "sum-42" in run.printed
    assert backend.requests[0]["tools"] != backend.requests[1]["tools"]


async def test_a_model_that_repeats_a_call_forever_receives_a_note_and_continues(
    tmp_path: Path,
) -> None:
    same = [
        called("exec_command", json.dumps({"cmd": "true"}), f"call_{number}") for number in range(4)
    ]
    async with behind(tmp_path, [*same, stated("It does nothing.")]) as (codex, backend):
        run = await codex.run(model=MODEL)

    assert "rounds of calls were identical" in json.dumps(backend.requests[-1]["messages"][-1])
    assert run.stated == ["It does nothing."]


async def test_a_model_that_repeats_itself_forever_is_stopped(tmp_path: Path) -> None:
    babble = (*(delta(content="Let me check that again. ") for _ in range(4000)), delta("stop"))
    async with behind(tmp_path, [babble]) as (codex, _):
        with pytest.raises(AssertionError, match="max_output_tokens"):
            await codex.run(model=MODEL)
