from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.protocol.items.messages import InputItem
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.messages import to_messages

PLAIN = Dialect("plain")
THINKING = Dialect("plain", reasoning="reasoning_content", replay="always")
PNG = "data:image/png;base64,AAAA"


def items(*raw):
    return msgspec.convert(list(raw), list[InputItem])


def send(role, *parts):
    content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else list(parts)
    return {"type": "message", "role": role, "content": content}


def text(words):
    return {"type": "input_text", "text": words}


def answer(*words):
    return send("assistant", *({"type": "output_text", "text": word} for word in words))


def call(call_id, name="f", arguments="{}"):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id, result="done"):
    return {"type": "function_call_output", "call_id": call_id, "output": result}


def thought(words, state=None):
    content = [{"type": "reasoning_text", "text": words}] if words else []
    sealed = {"encrypted_content": msgspec.json.encode(state).decode()} if state else {}
    return {"type": "reasoning", "summary": [], "content": content, **sealed}


def chat(*raw, dialect=PLAIN, instructions=None, context=None):
    return to_messages(items(*raw), instructions, dialect, context, unseal=msgspec.json.decode)


def chat_call(call_id, name="f", arguments="{}"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def called(*call_ids, content=None, **more):
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [chat_call(each) for each in call_ids],
    } | more


def tool(call_id, content="done"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_instructions_come_first_and_a_single_text_is_a_string():
    assert chat(send("user", text("hi")), instructions="Be kind.") == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
    ]


def test_roles_are_those_of_the_dialect():
    raw = send("system", "a"), send("developer", "b"), send("user", "c")

    several = replace(PLAIN, system_messages="several")
    assert [message["role"] for message in chat(*raw, dialect=several)] == [
        "system",
        "system",
        "user",
    ]
    assert [
        message["role"] for message in chat(*raw, dialect=DIALECTS["openai"], instructions="i")
    ] == [
        "developer",
        "system",
        "developer",
        "user",
    ]


def test_several_texts_stay_parts_unless_the_dialect_wants_a_string():
    raw = send("user", text("a"), text("b"))

    assert chat(raw)[0]["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert chat(raw, dialect=replace(PLAIN, text_parts=False))[0]["content"] == "a\n\nb"


@pytest.mark.parametrize(
    ("detail", "sent"),
    [
        ({}, {}),
        ({"detail": "auto"}, {}),
        ({"detail": "low"}, {"detail": "low"}),
        ({"detail": "original"}, {"detail": "high"}),
    ],
)
def test_an_image_keeps_its_place_and_its_detail(detail, sent):
    raw = send("user", text("look"), {"type": "input_image", "image_url": PNG, **detail})

    assert chat(raw)[0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": PNG, **sent}},
    ]


def test_an_image_in_a_system_message_follows_as_the_users():
    raw = send("system", text("look"), {"type": "input_image", "image_url": PNG})

    assert [message["role"] for message in chat(raw)] == ["system", "user"]


def test_parallel_calls_are_one_assistant_message_with_their_outputs_behind():
    assert chat(send("user", "go"), call("a"), call("b"), output("a", "1"), output("b", "2")) == [
        {"role": "user", "content": "go"},
        called("a", "b"),
        tool("a", "1"),
        tool("b", "2"),
    ]


def test_text_before_calls_and_after_them_is_in_the_same_message():
    assert chat(answer("first"), call("a"), answer("then"), output("a")) == [
        called("a", content="first\n\nthen"),
        tool("a"),
    ]


def test_sequential_calls_are_separate_messages():
    assert chat(call("a"), output("a"), call("b"), output("b")) == [
        called("a"),
        tool("a"),
        called("b"),
        tool("b"),
    ]


def test_outputs_move_up_behind_their_calls_and_nothing_else_moves():
    assert chat(
        call("a"),
        call("b"),
        output("b", "2"),
        send("user", "wait"),
        call("c"),
        output("a", "1"),
        output("c"),
    ) == [
        called("a", "b"),
        tool("b", "2"),
        tool("a", "1"),
        {"role": "user", "content": "wait"},
        called("c"),
        tool("c"),
    ]


@pytest.mark.parametrize(
    ("column", "content"), [("null", {"content": None}), ("", {"content": ""}), ("absent", {})]
)
def test_calls_without_text_have_the_content_that_the_dialect_wants(column, content):
    (message,) = chat(call("a"), dialect=replace(PLAIN, call_content=column))

    assert message == {"role": "assistant", **content, "tool_calls": [chat_call("a")]}


def test_images_in_outputs_follow_all_outputs_and_name_their_call():
    image = {"type": "input_image", "image_url": PNG}
    raw = (
        call("a", "shoot"),
        call("b"),
        output("a", [text("here"), image]),
        output("b", [image]),
        send("user", "so?"),
    )

    _, first, second, moved, user = chat(*raw)

    assert first["content"] == "here\n[see the next user message]"
    assert second["content"] == "[see the next user message]"
    assert moved["role"] == "user"
    assert moved["content"] == [
        {"type": "text", "text": "From the output of call a of shoot:"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "text", "text": "From the output of call b of f:"},
        {"type": "image_url", "image_url": {"url": PNG}},
    ]
    assert user["content"] == "so?"


def test_images_in_outputs_stay_where_the_dialect_has_a_place():
    raw = call("a"), output("a", [text("here"), {"type": "input_image", "image_url": PNG}])

    _, message = chat(*raw, dialect=replace(PLAIN, tool_parts=True))

    assert [part["type"] for part in message["content"]] == ["text", "image_url"]


def test_an_output_of_texts_is_one_string():
    assert chat(call("a"), output("a", [text("x"), text("y")]))[1]["content"] == "x\ny"


def test_an_output_without_its_call_is_still_rendered():
    assert chat(send("user", "go"), output("z")) == [{"role": "user", "content": "go"}, tool("z")]


def test_a_refusal_has_its_field_or_is_text():
    raw = send(
        "assistant", {"type": "output_text", "text": "Hm. "}, {"type": "refusal", "refusal": "No."}
    )

    assert chat(raw, dialect=DIALECTS["openai"]) == [
        {"role": "assistant", "content": "Hm. ", "refusal": "No."}
    ]
    assert chat(raw) == [{"role": "assistant", "content": "Hm. No."}]


def test_an_empty_answer_is_not_sent():
    assert chat(
        send("user", "a"), answer(), thought("hm"), send("user", "b"), dialect=THINKING
    ) == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]


def test_an_empty_reasoning_item_sends_nothing():
    empty = {"type": "reasoning", "summary": []}

    assert chat(empty, answer("hi"), dialect=THINKING) == [{"role": "assistant", "content": "hi"}]


@pytest.mark.parametrize(
    ("replay", "context", "stored"),
    [
        ("never", None, []),
        ("never", "all_turns", []),
        ("tool_turns", None, ["t2", "t3"]),
        ("tool_turns", "auto", ["t2", "t3"]),
        ("tool_turns", "all_turns", ["t1", "t2", "t3", "t4"]),
        ("tool_turns", "current_turn", []),
        ("always", None, ["t1", "t2", "t3", "t4"]),
        ("always", "current_turn", ["t4"]),
    ],
)
def test_reasoning_goes_back_with_the_turns_that_the_dialect_wants(replay, context, stored):
    raw = (
        *(send("user", "q1"), thought("t1"), answer("a1")),
        *(send("user", "q2"), thought("t2"), call("c"), output("c"), thought("t3"), answer("a2")),
        *(send("user", "q3"), thought("t4"), answer("a3")),
    )

    messages = chat(*raw, dialect=replace(THINKING, replay=replay), context=context)

    assert [
        message["reasoning_content"] for message in messages if "reasoning_content" in message
    ] == stored


@pytest.mark.parametrize(
    ("place", "content", "field"),
    [
        ("reasoning_content", "so", {"reasoning_content": "why"}),
        ("reasoning", "so", {"reasoning": "why"}),
        ("think_tags", "<think>\nwhy\n</think>\n\nso", {}),
        (
            "thinking",
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]},
                {"type": "text", "text": "so"},
            ],
            {},
        ),
        ("", "so", {}),
    ],
)
def test_reasoning_goes_back_where_the_dialect_has_a_place_for_it(place, content, field):
    (message,) = chat(thought("why"), answer("so"), dialect=replace(THINKING, reasoning=place))

    assert message == {"role": "assistant", "content": content, **field}


def test_a_summary_goes_back_where_there_is_no_raw_reasoning():
    displayed = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "why"}],
        "content": None,
    }

    assert chat(displayed, answer("so"), dialect=THINKING)[0]["reasoning_content"] == "why"


def test_reasoning_that_was_only_sealed_goes_back_to_any_family():
    sealed = thought("", {"family": "other", "reasoning": {"reasoning": "why"}})

    assert chat(sealed, answer("so"), dialect=THINKING)[0]["reasoning_content"] == "why"


def test_a_family_gets_back_what_it_sent_and_another_only_the_text():
    details = [{"type": "reasoning.text", "text": "why", "signature": "s"}]
    state = {
        "family": "openrouter",
        "reasoning": {"reasoning": "why", "reasoning_details": details},
    }
    raw = thought("why", state), call("a"), output("a")

    assert chat(*raw, dialect=DIALECTS["openrouter"])[0] == called(
        "a", reasoning="why", reasoning_details=details
    )
    assert chat(*raw, dialect=DIALECTS["deepseek"])[0] == called(
        "a", content="", reasoning_content="why"
    )
    assert chat(*raw, dialect=DIALECTS["anthropic"])[0] == called("a")


def test_signed_blocks_of_several_items_go_back_in_order():
    def block(number):
        return {"type": "thinking", "thinking": f"t{number}", "signature": f"s{number}"}

    raw = [
        thought("", {"family": "anthropic", "reasoning": {"thinking_blocks": [block(n)]}})
        for n in (1, 2)
    ]

    message = chat(*raw, call("a"), output("a"), dialect=DIALECTS["anthropic"])[0]

    assert message["thinking_blocks"] == [block(1), block(2)]


def test_a_thought_signature_goes_back_on_its_call_though_reasoning_does_not():
    signed = {"extra_content": {"google": {"thought_signature": "s"}}}
    state = {"family": "gemini", "reasoning": {"reasoning_content": "why"}, "calls": {"a": signed}}

    message = chat(thought("why", state), call("a"), call("b"), dialect=DIALECTS["gemini"])[0]

    assert message == {"role": "assistant", "tool_calls": [chat_call("a") | signed, chat_call("b")]}


def test_sealed_state_can_contain_only_reasoning():
    state = {
        "family": "plain",
        "reasoning": {"role": "system", "content": "x"},
        "calls": {"a": {"id": "y"}},
        "role": "z",
    }

    assert chat(thought("", state), call("a"), dialect=THINKING) == [called("a")]


def test_content_that_cannot_be_opened_is_left_out():
    raw = items({"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}, answer("a"))

    assert to_messages(raw, None, THINKING, unseal=lambda blob: {}) == [
        {"role": "assistant", "content": "a"}
    ]


def test_some_backends_want_the_field_with_every_call_even_when_empty():
    raw = send("user", "go"), call("a"), output("a"), answer("so")

    messages = chat(*raw, dialect=DIALECTS["deepseek"])

    assert messages[1] == called("a", content="", reasoning_content="")
    assert messages[3] == {"role": "assistant", "content": "so"}


def test_ids_are_shortened_alike_in_call_and_output_where_they_must_be():
    raw = call("call_123"), call("abcDEF123"), output("call_123"), output("abcDEF123")

    message, first, second = chat(*raw, dialect=DIALECTS["mistral"])

    short = message["tool_calls"][0]["id"]
    assert len(short) == 9
    assert short.isalnum()
    assert (first["tool_call_id"], second["tool_call_id"]) == (short, "abcDEF123")


def test_phases_and_references_do_not_reach_the_backend():
    assert chat({**answer("hm"), "phase": "commentary"}) == [{"role": "assistant", "content": "hm"}]
    with pytest.raises(ClientError) as caught:
        chat({"type": "item_reference", "id": "msg_1"})
    assert (caught.value.status, caught.value.param) == (404, "input")


def test_errors_name_the_place_in_the_requests_own_input():
    raw = items(
        send("user", "old"),
        answer("older"),
        send("user", text("a"), {"type": "input_file", "file_id": "f"}),
    )

    with pytest.raises(ClientError) as caught:
        to_messages(raw, None, PLAIN, history=2)
    assert caught.value.param == "input[0].content[1].file_id"


def test_a_file_of_an_earlier_turn_that_this_model_cannot_read_is_only_mentioned():
    raw = items(
        send("user", text("read"), {"type": "input_file", "file_data": "AP8=", "filename": "a.pdf"})
    )

    (message,) = to_messages(raw, None, PLAIN, history=1)

    assert message["content"][0] == {"type": "text", "text": "read"}
    assert message["content"][1] == {
        "type": "text",
        "text": "[Something stood here that this model cannot read.]",
    }


@st.composite
def conversations(draw):
    """Conversations in which calls and outputs pair off, every text and id its own."""
    raw = []
    is_open = []
    kinds = st.sampled_from(["user", "answer", "thought", "call", "output", "system"])
    for fresh, kind in enumerate(draw(st.lists(kinds, max_size=14))):
        if kind == "call":
            raw.append(call(f"c{fresh}", arguments=f'{{"n":"<{fresh}>"}}'))
            is_open.append(f"c{fresh}")
        elif kind == "output" and is_open:
            raw.append(output(is_open.pop(draw(st.integers(0, len(is_open) - 1))), f"<{fresh}>"))
        elif kind == "answer":
            raw.append(answer(f"<{fresh}>"))
        elif kind == "thought":
            raw.append(thought(f"({fresh})"))
        elif kind in {"user", "system"}:
            raw.append(send(kind, f"<{fresh}>"))
    raw += [output(call_id, f"<{call_id}>") for call_id in is_open]
    return raw


def everything_in(messages):
    """Every text and id of chat messages in the order in which they stand."""
    seen = []
    for message in messages:
        content = message.get("content") or ""
        parts = content if isinstance(content, list) else [{"text": content}]
        seen += [message["tool_call_id"]] if message["role"] == "tool" else []
        seen += [part["text"] for part in parts if "text" in part]
        for each in message.get("tool_calls", ()):
            seen += [each["id"], each["function"]["arguments"]]
    return "\n".join(seen)


@given(conversations(), st.sampled_from(sorted(DIALECTS.values(), key=lambda row: row.name)))
def test_everything_is_emitted_once_and_calls_are_answered_at_once(raw, dialect):
    dialect = replace(dialect, short_call_ids=False)

    messages = chat(*raw, dialect=dialect)
    stated = everything_in(messages)

    for item in raw:
        for words in (item.get("arguments"), item.get("output"), *_texts(item)):
            assert words is None or stated.count(words) == 1
    for index, message in enumerate(messages):
        ids = [each["id"] for each in message.get("tool_calls", ())]
        behind = [each["tool_call_id"] for each in messages[index + 1 : index + 1 + len(ids)]]
        assert sorted(ids) == sorted(behind)


@given(conversations())
def test_all_but_outputs_keep_their_order(raw):
    stated = everything_in(chat(*raw))

    places = [stated.index(words) for item in raw for words in _texts(item)]
    assert places == sorted(places)


def _texts(item):
    content = item.get("content", ()) if item["type"] == "message" else ()
    return [content] if isinstance(content, str) else [part["text"] for part in content]
