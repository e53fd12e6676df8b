"""The scripted fake of the harness: as it is, and with one thing broken at a time."""

from pathlib import Path
from typing import Any

import pytest

from antiphon_verify.areas.responses import cancel
from antiphon_verify.choice import chosen, is_under
from antiphon_verify.judging import Plan, judge
from antiphon_verify.report import Result
from tests.support.harness import PATH, faking, load
from tests.support.recordings import MISSING

pytestmark = [
    pytest.mark.skipif(not PATH.exists(), reason=MISSING),
    # The fake logs each request that makes it stumble, and is left in mid-stream.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Turn = dict[str, Any]

TEXT: Turn = {
    "items": [{"type": "message", "text": "Hello there, this is an answer of some length."}]
}

CALL: Turn = {
    "items": [{"type": "function_call", "name": "get_weather", "arguments": {"city": "Paris"}}]
}

FAILED: Turn = TEXT | {"status": "failed"}

ENOUGH = 2000
"""Turns: more than are asked for."""

INERT = {"no_call_item_ids", "slow"}
"""Mutations that the fake names and does not do."""

CAUGHT: dict[str, tuple[Any, Turn, str]] = {
    "no_sequence_number": (True, TEXT, "responses:stream:stream-sequence-numbers"),
    "no_created": (True, TEXT, "responses:stream:stream-first-created"),
    "no_in_progress": (True, TEXT, "responses:stream:stream-opening-order"),
    "no_content_part": (True, TEXT, "responses:stream:part-events-inside-life"),
    "no_output_item_added": (True, TEXT, "responses:stream:item-events-inside-life"),
    "no_output_item_done": (True, TEXT, "responses:stream:item-done-once"),
    "no_deltas": (True, TEXT, "responses:stream:text-deltas-first"),
    "no_text_done": (True, TEXT, "responses:stream:text-done-once"),
    "no_completed": (True, TEXT, "responses:stream:stream-one-terminal"),
    "empty_completed_output": (True, TEXT, "responses:stream:output-equals-done-items"),
    "minimal_completed": (True, TEXT, "responses:same:keys"),
    "no_item_ids": (True, TEXT, "responses:objects:item-ids"),
    "no_usage": (True, TEXT, "responses:usage:counts"),
    "null_usage": (True, TEXT, "responses:stream:usage-present"),
    "usage_no_details": (True, TEXT, "responses:usage:output-details"),
    "done_sentinel": (True, TEXT, "transport:sse:no-done"),
    "no_event_line": (True, TEXT, "transport:sse:event-line"),
    "no_output_index": (True, TEXT, "responses:stream:event-fields"),
    "no_response_id": (True, TEXT, "responses:objects:id"),
    "random_item_id_per_event": (True, TEXT, "responses:stream:item-event-id"),
    "no_status": (True, TEXT, "responses:objects:item-statuses"),
    "no_annotations": (True, TEXT, "responses:text:annotations"),
    "no_logprobs": (True, TEXT, "responses:text:logprobs"),
    "unknown_event": (True, TEXT, "responses:stream:event-known-type"),
    "unknown_item": (True, TEXT, "responses:objects:item-types"),
    "reasoning_item": (True, TEXT, "responses:reasoning:encrypted-only-when-asked"),
    "comment_lines": (True, TEXT, "transport:sse:comments-in-silence"),
    "cut_after": (3, TEXT, "transport:sse:complete"),
    "minimal_response": (True, TEXT, "responses:objects:created-at"),
    "content_type_no_charset": (True, TEXT, "transport:sse:charset"),
    "args_only_in_done": (True, CALL, "responses:calls:streamed-deltas"),
    "args_only_in_delta": (True, CALL, "responses:stream:text-done-once"),
    "first_seq": (5, TEXT, "responses:stream:stream-sequence-numbers"),
    "ws_reject": (404, TEXT, "responses:websocket:refused-well"),
    "http_error": (500, TEXT, "responses:objects:made"),
    "no_object": (True, TEXT, "responses:objects:object"),
    "no_created_at": (True, TEXT, "responses:objects:created-at"),
    "no_model": (True, TEXT, "responses:objects:model"),
    "no_tools": (True, TEXT, "responses:objects:tools"),
    "extra_fields": (True, TEXT, "responses:objects:no-foreign-keys"),
    "error_event": (True, TEXT, "responses:stream:stream-one-terminal"),
    "obfuscation": (True, TEXT, "responses:stream:no-obfuscation"),
    "parallel_tool_calls_missing": (True, TEXT, "responses:objects:parallel-tool-calls"),
    "usage_total": (1_000_000, TEXT, "responses:usage:plausible"),
    "models_extra": ({"models": []}, TEXT, "responses:models:only-list"),
    "models_override": ({"models": []}, TEXT, "responses:models:list"),
    "fail_code": ("it_broke", FAILED, "responses:stream:failed-code-known"),
    "error_event_nested": (True, TEXT, "responses:stream:stream-one-terminal"),
}
"""By the mutation: its value, what the fake is told to say, and a requirement that sees it."""

ENDLESS = {"no_completed": 2.0}
"""Mutations after which nothing comes any more, and how many seconds that is watched."""

LACKS = {
    "chat:errors": "it checks no request",
    "responses:errors": "it checks no request",
    "responses:order": "it checks no request",
    "responses:hosted": "it checks no tool, and runs none",
    "responses:web-search:choice": "it runs none",
    "responses:code-interpreter": "it checks no tool, and runs none",
    "responses:image-generation": "it checks no tool, and runs none",
    "responses:prompts": "it has none, and reads none",
    "responses:websocket": "it checks no frame, keeps no chain, has no lanes",
    "responses:input-items": "it reads no query, and lists input as it came",
    "responses:conversations": "it reads few queries and checks nothing",
    "responses:idempotency": "it looks at no key",
    "responses:input-tokens": "it counts 42 for everything",
    "chat:parameters": "it says what it is told, whatever the parameters",
    "responses:logprobs": "it has none",
    "chat:formats": "it says what it is told, no JSON",
    "responses:formats": "it says what it is told, no JSON",
    "chat:tools": "it calls what it is told",
    "responses:calls": "it calls what it is told",
    "responses:tools": "it calls what it is told, and checks no grammar",
    "responses:limits:nothing-dropped": "it counts 10 for everything",
    "responses:background": "it streams it as if it were none, and is done at the second look",
    "responses:prompt-cache": "it knows no prompt cache, and answers as usual",
    "responses:reasoning:removed": "it takes what it is given",
    "responses:cancel": "it cancels what is done",
    "responses:compact": "it checks nothing, and knows no trigger",
    "responses:headers": "it sends few",
    "responses:resume": "it streams everything again, and stumbles over a word",
    "responses:usage:grows": "it counts 10 for everything",
    "responses:chain": "it stores everything, checks nothing and counts 10",
    "responses:store": "it stores everything, and deletes what never was",
    "responses:models:unknown": "it has every model",
    "responses:objects:frequency-penalty": "it leaves it out",
    "responses:objects:presence-penalty": "it leaves it out",
    "responses:stream:obfuscation": "it sends none",
    "responses:echo": "it tells back what it was given, defaults left out",
    "chat:conversion": "it says what it is told, whatever it is sent",
    "chat:answer": "it leaves out keys that are null",
    "chat:images:file-url": "it looks at nothing",
    "transport:http": "it stumbles over what it cannot read",
}
"""What the fake does not do, by requirement or area, and what it does instead."""


async def judged(
    folder: Path, turn: Turn, only: list[str], mutations: dict[str, Any], limit: float = 20.0
) -> dict[str, Result]:
    async with faking(folder, [turn] * ENOUGH, mutations) as url:
        report = await judge(
            Plan(base_url=url, model="fake-model", requirements=chosen(only=only), limit=limit)
        )
    return {result.id: result for result in report.results}


@pytest.mark.parametrize("mutation", CAUGHT)
async def test_a_mutation_is_caught_and_nothing_is_without_it(
    mutation: str, tmp_path: Path
) -> None:
    value, turn, name = CAUGHT[mutation]
    sound = await judged(tmp_path, turn, [name], {})
    broken = await judged(tmp_path, turn, [name], {mutation: value}, ENDLESS.get(mutation, 20.0))

    assert sound[name].outcome in ("passed", "skipped"), sound[name].came
    assert broken[name].outcome == "failed"


def test_every_mutation_is_tried_but_for_those_that_do_nothing() -> None:
    assert set(load().MUTATIONS) == CAUGHT.keys() | INERT
    assert all(PATH.read_text().count(name) == 1 for name in INERT)


@pytest.mark.wide
async def test_the_fake_as_it_is_breaks_only_what_it_does_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        cancel, "POLLS", 1
    )  # the fake does not call the tool that the case waits for
    results = await judged(tmp_path, TEXT, [], {})
    broken = {
        one.id for one in results.values() if one.outcome == "failed" and one.kind == "protocol"
    }
    by_lack = {lack: {name for name in broken if is_under(name, lack)} for lack in LACKS}

    assert broken == set().union(*by_lack.values())
    assert [lack for lack, names in by_lack.items() if not names] == []
