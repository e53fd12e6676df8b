from dataclasses import replace

from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.to_chat.shape import shaped

PLAIN = Dialect("plain")
FIRST = replace(PLAIN, system_must_be_first=True)
ALTERNATING = replace(PLAIN, alternating=True)


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def test_most_dialects_take_messages_as_they_are():
    messages = [message("user", "a"), message("system", "b"), message("user", "c"), message("user", "d")]

    assert shaped(messages, PLAIN) == messages


def test_system_messages_at_the_start_are_joined_where_there_may_be_one():
    messages = [message("system", "a"), message("system", "b"), message("user", "c")]

    assert shaped(messages, FIRST) == [message("system", "a\n\nb"), message("user", "c")]


def test_a_later_system_message_keeps_its_place_under_a_mark():
    messages = [message("user", "a"), message("system", "b"), message("user", "c")]

    assert shaped(messages, FIRST) == [
        message("user", "a"),
        message("user", "[System message]\nb"),
        message("user", "c"),
    ]


def test_nothing_becomes_nothing():
    assert shaped([], FIRST) == []
    assert shaped([], ALTERNATING) == []


def test_neighbours_of_one_role_are_joined_where_roles_must_alternate():
    image = {"type": "image_url", "image_url": {"url": "u"}}
    messages = [message("user", "a"), message("user", "b"), message("user", [image]), message("assistant", "c")]

    assert shaped(messages, ALTERNATING) == [
        message("user", [{"type": "text", "text": "a\n\nb"}, image]),
        message("assistant", "c"),
    ]


def test_messages_that_carry_more_than_content_are_never_joined():
    messages = [
        message("assistant", "a", tool_calls=[]),
        message("assistant", "b"),
        message("tool", "1", tool_call_id="c"),
    ]

    assert shaped(messages, ALTERNATING) == messages
