"""What is known of a chain makes the same messages as the whole of it, and is bounded."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from antiphon.protocol.items.messages import InputItem
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.messages import to_messages
from antiphon.translation.to_chat_completions.prefix import MOST_RENDERINGS, Conversation, Messages, Prefix, encode_body

THOUGHT = {"type": "reasoning", "summary": []}
ALTERNATING = [dialect for dialect in DIALECTS.values() if dialect.alternating]


def say(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text}


def items(*raw: dict[str, Any]) -> list[InputItem]:
    return msgspec.convert(list(raw), list[InputItem])


def known(prefix: Prefix, new: Sequence[InputItem], dialect: Dialect, context: str | None = None) -> list[Any]:
    """The messages where `new` follows a chain of which the prefix is known."""
    whole = Conversation([*prefix.items, *new], prefix)
    return list(to_messages(whole, "Be kind.", dialect, context, history=prefix.length))


@pytest.mark.parametrize("dialect", ALTERNATING, ids=lambda dialect: dialect.name)
def test_roles_alternate_where_a_turn_of_a_known_chain_became_no_answer(dialect: Dialect) -> None:
    first = Prefix().extended(items(say("user", "a"), THOUGHT))
    known(first, items(say("user", "b")), dialect)
    second = first.extended(items(say("user", "b"), say("assistant", "c")))
    messages = known(second, items(say("user", "d")), dialect)

    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize("dialect", ALTERNATING, ids=lambda dialect: dialect.name)
def test_instructions_and_a_known_chain_that_begins_with_a_system_message_are_one(dialect: Dialect) -> None:
    prefix = Prefix().extended(items(say("system", "Be brief."), say("user", "a"), say("assistant", "c")))
    new = items(say("user", "d"))
    plain = list(to_messages([*prefix.items, *new], "Be kind.", dialect))

    assert known(prefix, new, dialect) == plain


def test_a_chain_is_kept_as_messages_in_a_few_ways_the_oldest_forgotten_first() -> None:
    dialect = DIALECTS["generic"]
    prefix = Prefix().extended(items(say("user", "a"), say("assistant", "b")))
    contexts = [None, "auto", "current_turn", "all_turns"]
    for context in contexts:
        known(prefix, items(say("user", "c")), dialect, context)

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
        new = items(say("user", f"{number} \u2028 é"))
        whole = Conversation([*prefix.items, *new], prefix)
        messages = to_messages(whole, instructions, DIALECTS["generic"], history=prefix.length)
        body = before | {"messages": messages} | behind
        assert encode_body(body) == msgspec.json.encode(before | {"messages": list(messages)} | behind)
        prefix = prefix.extended([*new, *items(say("assistant", "yes"))])
    assert isinstance(messages, Messages)


def test_messages_stay_as_they_are_while_the_chain_that_they_are_of_grows() -> None:
    dialect, prefix = DIALECTS["generic"], Prefix().extended(items(say("user", "a"), say("assistant", "b")))
    early = to_messages(Conversation([*prefix.items, *items(say("user", "c"))], prefix), None, dialect, history=2)
    plain = msgspec.json.encode({"messages": list(early)})
    longer = prefix.extended(items(say("user", "c"), say("assistant", "d" * 1000)))
    known(longer, items(say("user", "e")), dialect)

    assert longer.log is prefix.log
    assert encode_body({"messages": early}) == plain
