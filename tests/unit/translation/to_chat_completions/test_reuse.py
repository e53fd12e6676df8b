from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.sizes import LARGE
from antiphon.translation.to_chat_completions.reuse import fingerprint, reuse

SYSTEM = {"role": "system", "content": "Be brief."}
HI = {"role": "user", "content": "Hi"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
OUTPUT = {"role": "tool", "tool_call_id": "1", "content": "x"}
SEEN = {
    "role": "user",
    "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}],
}
INSPECT_TOOL = {"type": "function", "function": {"name": "look"}}
FIND = {"type": "function", "function": {"name": "find"}}


def body(*messages: Any, tools: Any = ()) -> dict[str, Any]:
    return {"messages": list(messages)} | ({"tools": list(tools)} if tools else {})


def changed(before: dict[str, Any], new: dict[str, Any]) -> str:
    return reuse(fingerprint(before), fingerprint(new), new).changed


def test_a_prompt_that_continues_the_one_before_reuses_all_of_it() -> None:
    before = body(SYSTEM, HI, tools=[INSPECT_TOOL])
    new = body(SYSTEM, HI, CALL, OUTPUT, tools=[INSPECT_TOOL])
    found = reuse(fingerprint(before), fingerprint(new), new)
    assert (found.reused, found.changed) == (sum(fingerprint(before).sizes), "")
    assert found.size > found.reused


def test_of_the_first_prompt_nothing_is_reused_and_nothing_has_changed() -> None:
    found = reuse(None, fingerprint(body(HI)), body(HI))
    assert (found.reused, found.changed) == (0, "")


@pytest.mark.parametrize(
    ("before", "new", "name"),
    [
        (body(SYSTEM, HI), body(HI, SYSTEM), "message 0 (user, text)"),
        (body(SYSTEM, HI, CALL), body(SYSTEM, HI, SEEN), "message 2 (user, image_url, text)"),
        (body(SYSTEM, HI), body(SYSTEM, CALL), "message 1 (assistant, tool calls)"),
        (body(SYSTEM, HI), body(SYSTEM), "message 1 (missing)"),
        (body(HI, tools=[INSPECT_TOOL]), body(HI, tools=[FIND]), "tool 0"),
        (body(HI, tools=[INSPECT_TOOL]), body(HI, tools=[INSPECT_TOOL, FIND]), "tool 1"),
        (body(HI, tools=[INSPECT_TOOL, FIND]), body(HI, tools=[INSPECT_TOOL]), "tool 1"),
        (body(HI), body(HI, tools=[INSPECT_TOOL]), "tool 0"),
    ],
)
def test_the_first_change_is_named_by_its_place_and_kind(before: Any, new: Any, name: str) -> None:
    assert changed(before, new) == name


PARTS = st.lists(st.sampled_from([SYSTEM, HI, CALL, OUTPUT, SEEN]), max_size=12)


@given(PARTS, PARTS, PARTS)
def test_what_is_reused_is_exactly_the_common_beginning(common: Any, old: Any, more: Any) -> None:
    before = body(*common, *old)
    new = body(*common, *more)
    pairs = zip(before["messages"], new["messages"], strict=False)
    same = next(
        (place for place, (a, b) in enumerate(pairs) if a != b),
        min(len(common + old), len(common + more)),
    )
    found = reuse(fingerprint(before), fingerprint(new), new)
    assert found.reused == sum(fingerprint(new).sizes[:same])
    assert bool(found.changed) == (same < len(before["messages"]))


def test_a_large_request_has_the_same_fingerprint_in_pieces() -> None:
    large = body(SYSTEM, {"role": "user", "content": "é" * 3_000_000}, tools=[INSPECT_TOOL])
    assert fingerprint(large) == fingerprint(large, LARGE + 1)
