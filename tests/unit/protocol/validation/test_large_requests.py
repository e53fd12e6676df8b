"""Large requests that send a history again: decoded as if it was new, and its items are read
once.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.history.recent_inputs import RecentInputs
from antiphon.protocol.known_inputs import KnownInput
from antiphon.protocol.requests import MOST_ITEMS, CreateResponse
from antiphon.protocol.validation.large_requests import decode_large
from antiphon.protocol.validation.validate import decode_request
from antiphon.sharing.recent import Recent
from antiphon.sizes import LARGE
from tests.support.chance import examples

LONG: list[Any] = [{"role": "user", "content": letter * LARGE} for letter in "ab"]


class Known:
    """What one server has in memory."""

    def __init__(self) -> None:
        self.tools: Any = Recent(1_000_000, lambda tools: tools.weight)
        self.inputs: dict[str, dict[object, KnownInput]] = {}

    def of(self, tenant: str) -> list[KnownInput]:
        return [*self.inputs.get(tenant, {}).values()]

    def put(self, tenant: str, known: KnownInput) -> None:
        self.inputs.setdefault(tenant, {})[known.key] = known

    def decode(self, body: bytes, tenant: str = "a") -> CreateResponse:
        request, sent = decode_large(body, None, self.tools, self, tenant)
        if sent is not None:
            self.put(tenant, sent)
        return request


def outcome(decode: Any, body: bytes) -> str:
    """The request or the error."""
    try:
        return repr(decode(body))
    except ClientError as error:
        return repr(error.body())


def body_of(items: list[Any], **more: Any) -> bytes:
    return msgspec.json.encode({"model": "m", **more, "input": items, "store": False})


CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
items = st.sampled_from(
    [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": [{"type": "input_text", "text": "]"}], "id": "msg_1"},
        {
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Ho"}],
            "id": "msg_2",
            "phase": "final_answer",
        },
        {"role": "user", "content": "Hi", "phase": "commentary"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        CALL,
        CALL | {"id": "fc_1", "async_": True},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
        {"type": "item_reference", "id": "msg_9"},
        {"id": "msg_9"},
        {"type": "compaction_trigger"},
        {"type": "additional_tools", "tools": [{"type": "function", "name": "g"}]},
        {"role": "user"},
        {"type": "unknown"},
        7,
    ]
)


@examples(100)
@given(st.lists(st.lists(items, max_size=3), min_size=1, max_size=4), st.booleans(), st.data())
def test_a_history_that_grows_is_read_as_if_it_was_new(
    turns: list[list[Any]], indents: bool, data: st.DataObject
) -> None:
    known = Known()
    sent = LONG
    for turn in [[], *turns]:
        sent = [*sent, *turn]
        if data.draw(st.integers(0, 4)) == 0:  # the client changes what came before
            sent = [*sent[:1], {"role": "user", "content": "c" * LARGE}, *sent[2:]]
        body = body_of(sent)
        body = msgspec.json.format(body) if indents else body
        assert outcome(known.decode, body) == outcome(decode_request, body)


def test_items_that_were_sent_before_are_the_same_objects_for_their_tenant_alone() -> None:
    known = Known()
    first = known.decode(body_of(LONG))
    second = known.decode(
        body_of([*LONG, {"role": "user", "content": "Hi"}], instructions="Other ones.")
    )
    third = known.decode(
        body_of([*LONG, {"role": "user", "content": "Hi"}, {"role": "user", "content": "Ho"}])
    )
    other = known.decode(body_of([*LONG, {"role": "user", "content": "Hi"}]), "b")
    assert [id(item) for item in second.input[:2]] == [id(item) for item in first.input]  # type: ignore[index,union-attr]
    assert [id(item) for item in third.input[:3]] == [id(item) for item in second.input]  # type: ignore[index,union-attr]
    assert other.input == second.input
    assert other.input[0] is not second.input[0]  # type: ignore[index]
    assert [len(each) for each in known.inputs.values()] == [1, 1]


def test_an_input_that_continues_another_has_no_more_items_than_any() -> None:
    known = Known()
    sent: list[Any] = [{"role": "user", "content": ""}] * MOST_ITEMS
    assert "invalid" not in outcome(known.decode, body_of(sent[:-1]))
    assert "invalid" not in outcome(known.decode, body_of(sent))
    longer = body_of([*sent, sent[0]])
    refused = outcome(known.decode, longer)
    assert refused == outcome(decode_request, longer)
    assert "invalid" in refused


def test_two_conversations_with_the_same_beginning_are_both_known() -> None:
    known = Known()
    for text in "xy":
        known.decode(body_of([*LONG, {"role": "user", "content": text}]))
    for text in "xy":
        known.decode(
            body_of([*LONG, {"role": "user", "content": text}, {"role": "user", "content": "Hi"}])
        )
    assert sorted(len(one.items) for one in known.of("a")) == [4, 4]


@pytest.mark.parametrize(
    ("new", "param"),
    [
        ([{"role": "user", "content": "Hi"}, {"role": "user"}], "input[3].content"),
        ([{"role": "user", "content": "Hi", "id": "x"}], "input[2].id"),
        ([{"role": "user", "content": "Hi", "id": "msg_1"}], "input"),
    ],
)
def test_an_error_names_the_place_in_the_whole_input(new: list[Any], param: str) -> None:
    known = Known()
    before = [{**LONG[0], "id": "msg_1"}, LONG[1]]
    known.decode(body_of(before))
    body = body_of([*before, *new])
    with pytest.raises(ClientError) as caught:
        known.decode(body)
    assert caught.value.param == param
    assert outcome(known.decode, body) == outcome(decode_request, body)


def test_the_last_of_two_inputs_counts() -> None:
    known = Known()
    long = msgspec.json.encode(LONG)
    short = b'[{"role":"user","content":"Hi"}]'
    known.decode(b'{"model":"m","input":%b}' % long)
    more = long[:-1] + b',{"role":"user","content":"Ho"}]'
    for first, last in ((more, short), (short, more), (more, b'"Hi"')):
        body = b'{"model":"m","input":%b,"input":%b}' % (first, last)
        assert outcome(known.decode, body) == outcome(decode_request, body)
    assert all(len(msgspec.json.decode(one.json + b"]")) == len(one.items) for one in known.of("a"))


def test_a_history_is_forgotten_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[Any] = []
    now = [0.0]

    class Loop:
        def call_later(self, delay: float, function: Any) -> None:
            timers.append((now[0] + delay, function))

    monkeypatch.setattr("asyncio.get_running_loop", Loop)
    inputs = RecentInputs(now=lambda: now[0])
    known = Known()
    for key, text in enumerate("xy"):
        _, sent = decode_large(
            body_of([*LONG, {"role": "user", "content": text}]), None, known.tools, inputs, "a"
        )
        assert sent is not None
        now[0] = 300.0 * key
        inputs.put("a", sent)
    left = []
    while timers:
        now[0], sweep = timers.pop()
        sweep()
        left.append(len(inputs.of("a")))
    assert left[0] == 2
    assert 1 in left
    assert left[-1] == inputs.size == 0


async def test_histories_are_limited_to_their_bytes() -> None:
    inputs = RecentInputs(3_000_000)
    known = Known()
    for number in range(9):
        sent = decode_large(
            body_of([*LONG, {"role": "user", "content": f"{number}"}]),
            None,
            known.tools,
            inputs,
            "a",
        )[1]
        assert sent is not None
        inputs.put("a", sent)
    assert 0 < len(inputs.of("a")) < 9
    assert 1_000_000 < inputs.size <= 3_000_000
