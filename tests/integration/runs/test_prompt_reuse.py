"""How much of each prompt a local backend has read before, over sessions such as Codex has."""

import json
import logging
from itertools import pairwise, starmap
from typing import Any

import pytest

from antiphon.errors import BackendError
from antiphon.translation.dialects.table import DIALECTS
from tests.support.parts import Chunks, called, plain, query, scripted_parts, stated
from tests.support.recordings import FOLDER, MISSING
from tests.support.replay import delta

TURNS = 30
LOCAL = sorted(name for name, dialect in DIALECTS.items() if dialect.prefix_cache)
IMAGE = "data:image/png;base64," + "iVBORw0KGgo" * 100

# Sizes and kinds as Codex 0.169 sends them for gpt-5.5: two messages of a developer, then the
# environment.
BEGINNING = [
    {"role": "developer", "content": [{"type": "input_text", "text": "You are Codex. " * 1400}]},
    {
        "role": "developer",
        "content": [{"type": "input_text", "text": "<skills_instructions> " * 250}],
    },
    {"role": "user", "content": [{"type": "input_text", "text": "<environment_context> " * 45}]},
    {"role": "user", "content": [{"type": "input_text", "text": "Fix the test."}]},
]
SCHEMA = {
    "type": "object",
    "properties": {"cmd": {"type": "string", "description": "A command. " * 60}},
}
CUSTOM = {"type": "custom", "name": "apply_patch", "description": "Edits files. " * 50}
TOOLS = [
    *(
        {"type": "function", "name": f"tool_{n}", "parameters": SCHEMA, "strict": False}
        for n in range(7)
    ),
    CUSTOM,
    {
        "type": "namespace",
        "name": "agents",
        "description": "Agents.",
        "tools": [{"type": "function", "name": "spawn", "parameters": SCHEMA}],
    },
]
CODEX = {
    "tools": TOOLS,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "01a1fa6d",
}


def answer(turn: int) -> Chunks:
    """One answer of the model: a thought with a call, and every tenth time a text."""
    words = " ".join(f"look_{turn}_{number}" for number in range(20))
    thought = delta(reasoning_content=words, reasoning=words)
    if turn % 10 == 9:
        return [thought, *stated(f"I have fixed {words}.")]
    if turn % 10 == 4:
        return [
            thought,
            *called(
                "apply_patch", json.dumps({"input": f"*** Begin Patch {words}"}), f"call_{turn}"
            ),
        ]
    return [thought, *called("tool_1", json.dumps({"cmd": f"cat file_{turn}.py"}), f"call_{turn}")]


def output_of(item: dict[str, Any], turn: int) -> dict[str, Any]:
    """What Codex answers to a call: mostly a text, once an image."""
    if item["type"] == "custom_tool_call":
        return {
            "type": "custom_tool_call_output",
            "call_id": item["call_id"],
            "output": "Success. " * 30,
        }
    displayed = [
        {"type": "input_text", "text": "The image:"},
        {"type": "input_image", "image_url": IMAGE},
    ]
    output = displayed if turn % 10 == 2 else "line of output\n" * 60
    return {"type": "function_call_output", "call_id": item["call_id"], "output": output}


def behind(items: list[dict[str, Any]], turn: int) -> list[dict[str, Any]]:
    """What the client adds to an answer."""
    outputs = [output_of(item, turn) for item in items if item["type"].endswith("_call")]
    return outputs or [{"role": "user", "content": f"Now fix test {turn}."}]


RECORDED = FOLDER.parent / "clients" / "requests"


async def session(
    dialect: str, beginning: list[dict[str, Any]], *, is_stored: bool, **wishes: Any
) -> tuple[Any, Any]:
    """A session of thirty requests; its parts and its backend."""
    created, backend = scripted_parts(*map(answer, range(TURNS)), dialect=dialect)
    sent = list(beginning)
    last: str | None = None
    for turn in range(TURNS):
        body = CODEX | wishes | {"input": sent, "previous_response_id": last, "store": is_stored}
        response = await query(created, **body)
        added = behind(response["output"], turn)
        sent = added if is_stored else [*sent, *response["output"], *added]
        last = response["id"] if is_stored else None
    return created, backend


def prompt(body: dict[str, Any]) -> str:
    return json.dumps(body.get("tools", [])) + json.dumps(body["messages"])[:-1]


def shared(before: str, new: str) -> int:
    """How many characters both begin with."""
    pairs = zip(before, new, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(before), len(new)))


@pytest.mark.parametrize("is_stored", [True, False])
@pytest.mark.parametrize("dialect", LOCAL)
async def test_a_session_of_thirty_turns_reuses_95_percent_of_its_prompts(
    dialect: str, is_stored: bool
) -> None:
    judge(*await session(dialect, BEGINNING, is_stored=is_stored))


@pytest.mark.wide
@pytest.mark.skipif(not RECORDED.is_dir(), reason=MISSING)
@pytest.mark.parametrize("name", ["apply-patch", "model-gpt-5.6-sol", "shell-workspace-write"])
async def test_a_session_that_begins_with_a_request_of_codex_does_so_too(name: str) -> None:
    body = json.loads((RECORDED / f"codex-{name}.full.json").read_text())["full"]["body"]
    wishes = {
        field: body[field] for field in ("reasoning", "prompt_cache_key", "text") if field in body
    }
    tools = [
        *(tool for tool in body.get("tools", ()) if tool.get("name") != "apply_patch"),
        CUSTOM,
        TOOLS[1],
    ]
    judge(*await session("llamacpp", body["input"], is_stored=False, **wishes, tools=tools))


def judge(created: Any, backend: Any) -> None:
    """Check what the prompts repeat, and that it was counted so."""
    prompts = [prompt(body) for body in backend.requests]
    reused = sum(starmap(shared, pairwise(prompts)))
    later = sum(map(len, prompts[1:]))
    counts = created.models.backends[0].prompts
    assert len(prompts) == TURNS
    assert reused >= 0.95 * later
    assert (counts.breaks, counts.last_break) == (0, "")
    assert counts.reused / (counts.size - len(prompts[0])) == pytest.approx(
        reused / later, abs=0.01
    )


async def twice(first: dict[str, Any], second: dict[str, Any], dialect: str = "llamacpp") -> Any:
    """Two requests of one session, and the counts of their backend."""
    created, _ = scripted_parts(plain(), plain(), dialect=dialect)
    for body in (first, second):
        await query(created, **{"prompt_cache_key": "s", "store": False} | body)
    return created.models.backends[0].prompts


async def test_the_log_names_the_first_changed_message_without_its_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "antiphon")
    before = [{"role": "user", "content": "a secret"}, {"role": "user", "content": "Hi"}]

    counts = await twice(
        {"input": before}, {"input": [{"role": "user", "content": "another secret"}, *before]}
    )

    assert (counts.breaks, counts.last_break) == (1, "message 0 (user, text)")
    (line,) = [record.getMessage() for record in caplog.records if "differs" in record.getMessage()]
    assert "'scripted'" in line
    assert "message 0 (user, text)" in line
    assert "secret" not in line


async def test_another_tool_breaks_the_prefix_at_its_place() -> None:
    counts = await twice({"tools": TOOLS[:2]}, {"tools": TOOLS[1:3]})
    assert (counts.breaks, counts.last_break, counts.reused) == (1, "tool 0", 0)


async def test_responses_that_follow_the_same_one_each_continue_it() -> None:
    created, _ = scripted_parts(*[plain()] * 3, dialect="vllm")
    first = await query(created)
    for text in ("One way.", "Another way."):
        await query(created, input=text, previous_response_id=first["id"])
    assert created.models.backends[0].prompts.breaks == 0


async def test_another_model_and_another_session_are_compared_with_nothing() -> None:
    counts = await twice(
        {"input": "Hi", "prompt_cache_key": "s"}, {"input": "Ho", "prompt_cache_key": "t"}
    )
    assert (counts.breaks, counts.reused) == (0, 0)
    assert counts.size > 0


async def test_prompts_of_services_are_not_compared() -> None:
    counts = await twice({"input": "Hi"}, {"input": "Ho"}, dialect="openai")
    assert counts.size == 0


async def test_a_failed_call_is_not_the_turn_before() -> None:
    created, _ = scripted_parts(plain(), (500, {}), plain(), dialect="ollama")
    await query(created, prompt_cache_key="s", input="Hi")
    with pytest.raises(BackendError):
        await query(created, prompt_cache_key="s", input="Something else")
    await query(created, prompt_cache_key="s", input="Hi")
    assert created.models.backends[0].prompts.breaks == 0


async def test_an_engine_without_a_memory_compares_nothing() -> None:
    created, _ = scripted_parts(plain(), plain(), dialect="llamacpp")
    created.run.prompts = None
    await query(created)
    assert created.models.backends[0].prompts.size == 0
