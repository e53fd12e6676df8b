"""What is known of a chain makes the same messages as the whole of it, and is bounded."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.items.messages import InputItem
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.messages import to_messages
from antiphon.translation.to_chat_completions.prefix import (
    MOST_RENDERINGS,
    ChainLog,
    Messages,
    ModelConversation,
    Prefix,
    encode_body,
)

THOUGHT = {"type": "reasoning", "summary": []}
ALTERNATING = [dialect for dialect in DIALECTS.values() if dialect.alternating]


def send(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text}


def items(*raw: dict[str, Any]) -> list[InputItem]:
    return msgspec.convert(list(raw), list[InputItem])


def known(
    prefix: Prefix, new: Sequence[InputItem], dialect: Dialect, context: str | None = None
) -> list[Any]:
    """The messages where `new` follows a chain of which the prefix is known."""
    whole = ModelConversation([*prefix.items, *new], prefix)
    return list(to_messages(whole, "Be kind.", dialect, context, history=prefix.length))


@pytest.mark.parametrize("dialect", ALTERNATING, ids=lambda dialect: dialect.name)
def test_roles_alternate_where_a_turn_of_a_known_chain_became_no_answer(dialect: Dialect) -> None:
    first = Prefix().extended(items(send("user", "a"), THOUGHT))
    known(first, items(send("user", "b")), dialect)
    second = first.extended(items(send("user", "b"), send("assistant", "c")))
    messages = known(second, items(send("user", "d")), dialect)

    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize("dialect", ALTERNATING, ids=lambda dialect: dialect.name)
def test_instructions_and_a_known_chain_that_begins_with_a_system_message_are_one(
    dialect: Dialect,
) -> None:
    prefix = Prefix().extended(
        items(send("system", "Be brief."), send("user", "a"), send("assistant", "c"))
    )
    new = items(send("user", "d"))
    plain = list(to_messages([*prefix.items, *new], "Be kind.", dialect))

    assert known(prefix, new, dialect) == plain


def test_a_chain_is_cached_as_messages_in_a_few_forms_with_the_oldest_evicted_first() -> None:
    dialect = DIALECTS["generic"]
    prefix = Prefix().extended(items(send("user", "a"), send("assistant", "b")))
    contexts = [None, "auto", "current_turn", "all_turns"]
    for context in contexts:
        known(prefix, items(send("user", "c")), dialect, context)

    assert [context for _, context, _ in prefix.log.renderings] == contexts[-MOST_RENDERINGS:]


@pytest.mark.parametrize("instructions", [None, "Be kind."])
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ({}, {}),
        ({"model": "m"}, {}),
        ({}, {"stream": True}),
        ({"model": '"messages":[]'}, {"user": "u", "stream": True}),
    ],
)
def test_a_body_is_the_same_json_where_a_part_of_it_is_json_already(
    before: dict[str, Any], behind: dict[str, Any], instructions: str | None
) -> None:
    prefix = Prefix()
    for number in range(4):
        new = items(send("user", f"{number} \u2028 é"))
        whole = ModelConversation([*prefix.items, *new], prefix)
        messages = to_messages(whole, instructions, DIALECTS["generic"], history=prefix.length)
        body = before | {"messages": messages} | behind
        assert encode_body(body) == msgspec.json.encode(
            before | {"messages": list(messages)} | behind
        )
        prefix = prefix.extended([*new, *items(send("assistant", "yes"))])
    assert isinstance(messages, Messages)


def test_messages_stay_as_they_are_while_the_chain_that_they_are_of_grows() -> None:
    dialect = DIALECTS["generic"]
    prefix = Prefix().extended(items(send("user", "a"), send("assistant", "b")))
    early = to_messages(
        ModelConversation([*prefix.items, *items(send("user", "c"))], prefix),
        None,
        dialect,
        history=2,
    )
    plain = msgspec.json.encode({"messages": list(early)})
    longer = prefix.extended(items(send("user", "c"), send("assistant", "d" * 1000)))
    known(longer, items(send("user", "e")), dialect)

    assert longer.log is prefix.log
    assert encode_body({"messages": early}) == plain


class Agent:
    """A conversation with an agent: what the model said, and what the client answered, in turns of
    several steps.
    """

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self._calls = 0

    def step(self) -> list[dict[str, Any]]:
        """Return what the model says next, and the outputs of its calls."""
        stated: list[dict[str, Any]] = []
        if self._draw(st.booleans()):
            stated.append(
                {
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": f"thought {self._calls}"}],
                }
            )
        if self._draw(st.booleans()):
            stated.append(send("assistant", f"said {self._calls}"))
        calls = [f"call_{self._calls + number}" for number in range(self._draw(st.integers(0, 2)))]
        self._calls += len(calls)
        created = [
            {"type": "function_call", "call_id": one, "name": "look", "arguments": "{}"}
            for one in calls
        ]
        outputs = [
            {"type": "function_call_output", "call_id": one, "output": f"seen {one}"}
            for one in calls
        ]
        is_mixed = self._draw(st.booleans())
        pairs = (
            [item for pair in zip(created, outputs, strict=True) for item in pair]
            if is_mixed
            else created + outputs
        )
        return [*stated, *pairs]

    def turn(self) -> list[dict[str, Any]]:
        """Return what the client sends in one request: perhaps a user's message, and what follows
        it.
        """
        stated = self._draw(st.lists(st.sampled_from(["user", "user", "developer"]), max_size=2))
        steps = [self.step() for _ in range(self._draw(st.integers(0, 3)))]
        return [send(role, role) for role in stated] + [item for step in steps for item in step]


@given(
    st.data(),
    st.sampled_from(sorted(DIALECTS)),
    st.sampled_from([None, "current_turn", "all_turns"]),
    st.booleans(),
)
def test_steps_that_are_known_are_the_same_messages(
    data: st.DataObject, name: str, context: str | None, is_sent: bool
) -> None:
    agent = Agent(data.draw)
    dialect = DIALECTS[name]
    prefix = Prefix(ChainLog(is_sent=is_sent))
    earlier = [prefix]
    for _ in range(data.draw(st.integers(1, 5))):
        prefix = (
            data.draw(st.sampled_from(earlier))
            if data.draw(st.integers(0, 3)) == 0
            else earlier[-1]
        )
        new = items(*agent.turn())
        if is_sent:
            prefix = prefix.extended(new)
            new = []
        whole = ModelConversation([*prefix.items, *new], prefix)
        history = 0 if is_sent else prefix.length
        messages = to_messages(whole, "Be kind.", dialect, context, history=history)
        plain = list(to_messages([*whole], "Be kind.", dialect, context, history=history))
        assert list(messages) == plain
        assert encode_body({"messages": messages}) == msgspec.json.encode({"messages": plain})
        earlier.append(prefix if is_sent else prefix.extended([*new, *items(*agent.step())]))


def test_a_step_of_a_turn_that_goes_on_is_not_translated_again() -> None:
    steps = [
        [
            {
                "type": "function_call",
                "call_id": f"call_{number}",
                "name": "look",
                "arguments": "{}",
            },
            {"type": "function_call_output", "call_id": f"call_{number}", "output": "seen"},
        ]
        for number in range(3)
    ]
    prefix = Prefix(ChainLog(is_sent=True)).extended(items(send("user", "a"), *steps[0], *steps[1]))
    first = to_messages(ModelConversation(prefix.items, prefix), None, DIALECTS["generic"])
    longer = prefix.extended(items(*steps[2]))
    second = to_messages(ModelConversation(longer.items, longer), None, DIALECTS["generic"])

    assert [one is other for one, other in zip(first, second, strict=False)] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_second_way_on_does_not_end_an_answer_where_the_first_did() -> None:
    dialect = DIALECTS["generic"]
    both = Prefix(ChainLog(is_sent=True)).extended(items(send("user", "a"), send("assistant", "b")))
    call = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    seen = {"type": "function_call_output", "call_id": "call_1", "output": "seen"}
    for new in (
        [send("user", "c")],
        [call, seen],
        [call, seen, send("user", "d"), send("assistant", "e")],
    ):
        branch = both.extended(items(*new))
        messages = to_messages(ModelConversation(branch.items, branch), None, dialect)
        assert list(messages) == list(to_messages(branch.items, None, dialect))


def test_a_response_that_was_not_stored_does_not_end_an_answer_of_the_chain() -> None:
    dialect = DIALECTS["generic"]
    chain = Prefix().extended(items(send("user", "a"), send("assistant", "b")))
    call = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    seen = {"type": "function_call_output", "call_id": "call_1", "output": "seen"}
    known(chain, items(send("user", "c")), dialect)
    longer = chain.extended(items(call, seen, send("assistant", "d")))

    new = items(send("user", "e"))
    assert known(longer, new, dialect) == list(
        to_messages([*longer.items, *new], "Be kind.", dialect)
    )


def test_messages_are_encoded_while_the_chain_that_they_are_of_grows() -> None:
    dialect = DIALECTS["generic"]
    prefix = Prefix().extended(items(send("user", "a"), send("assistant", "b")))
    early = to_messages(
        ModelConversation([*prefix.items, *items(send("user", "c"))], prefix),
        None,
        dialect,
        history=2,
    )
    longer = prefix.extended(items(send("user", "c"), send("assistant", "d" * 1000)))

    def encode(value: Any) -> bytes:
        known(longer, items(send("user", "e")), dialect)
        return msgspec.json.encode(value)

    assert isinstance(early, Messages)
    assert early.encoded(b"", b"", encode) == msgspec.json.encode(list(early))


def test_the_json_of_a_text_is_copied_as_it_was_sent_and_then_let_go() -> None:
    text = "→" * 300
    steps = [
        each
        for call_id in "ab"
        for each in (
            {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": call_id, "output": text + call_id},
        )
    ]
    prefix = Prefix(ChainLog(is_sent=True)).extended(
        items(send("user", text), *steps, send("user", "b"))
    )
    known_text = getattr(prefix.items[2], "output", "")
    sent = b'"%ba"' % (rb"\u2192" * 300)
    texts = {id(known_text): (known_text, msgspec.Raw(sent))}
    messages = to_messages(
        ModelConversation(prefix.items, prefix, texts), None, DIALECTS["generic"]
    )
    body = encode_body({"messages": messages})

    assert (body.count(sent), body.count(text.encode())) == (1, 2)
    assert [message["content"] for message in msgspec.json.decode(body)["messages"]] == [
        message["content"] for message in messages
    ]
    assert messages[2]["content"] is known_text
    assert texts == {}
