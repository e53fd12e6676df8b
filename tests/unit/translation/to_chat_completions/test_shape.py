from antiphon.translation.to_chat_completions.shape import alternating


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def test_nothing_becomes_nothing():
    assert alternating([]) == []


def test_neighbours_of_one_role_are_joined_where_roles_must_alternate():
    image = {"type": "image_url", "image_url": {"url": "u"}}
    messages = [
        message("user", "a"),
        message("user", "b"),
        message("user", [image]),
        message("assistant", "c"),
    ]

    assert alternating(messages) == [
        message("user", [{"type": "text", "text": "a\n\nb"}, image]),
        message("assistant", "c"),
    ]


def test_messages_that_carry_more_than_content_are_never_joined():
    messages = [
        message("assistant", "a", tool_calls=[]),
        message("assistant", "b"),
        message("tool", "1", tool_call_id="c"),
    ]

    assert alternating(messages) == messages
