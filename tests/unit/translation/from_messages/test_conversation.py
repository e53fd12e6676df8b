"""Messages as items: each turn, and the faults of other servers. Each fault is named by the thread
that reports it.
"""

import msgspec

from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.messages import to_messages
from antiphon.translation.to_chat_completions.request import normalise_input
from tests.support.messages_requests import (
    assistant,
    image,
    items,
    read,
    refused,
    result,
    system,
    text,
    tool,
    use,
    user,
)


def kinds(found: list[dict[str, object]]) -> list[object]:
    return [one.get("role") or one["type"] for one in found]


# System text.


def test_a_system_text_becomes_the_instructions_and_blocks_one_developer_message() -> None:
    assert read(system="Be kind.").request.instructions == "Be kind."
    request = read(system=[text("Be kind."), text("Be brief.")]).request
    assert request.instructions is None
    assert items(system=[text("Be kind."), text("Be brief.")])[0]["content"] == [
        {"type": "input_text", "text": "Be kind."},
        {"type": "input_text", "text": "Be brief."},
    ]


def test_the_attribution_line_is_dropped() -> None:
    """llama.cpp#20623, ik_llama.cpp#1436: it changes, and empties the prompt cache of a local
    model.
    """
    turns = [
        items(system=[text(f"x-anthropic-billing-header: cc_version={version};"), text("Be kind.")])
        for version in ("1", "2")
    ]
    assert turns[0] == turns[1]
    assert turns[0][0]["content"] == "Be kind."


def test_a_system_message_stays_where_it_is() -> None:
    """ollama#17774, claude-code#77698, grok2api#598, CLIProxyAPI#3625, cc-router#33,
    free-claude-code#1, gproxy#209.
    """
    assert kinds(items(user("a"), system("b"), user("c"))) == ["user", "developer", "user"]
    assert kinds(items(system("b"), user("c"))) == ["developer", "user"]
    assert kinds(items(user("a"), assistant("b"), system("c"), user("d"))) == [
        "user",
        "assistant",
        "developer",
        "user",
    ]


def test_a_system_message_that_only_sets_the_effort_is_accepted() -> None:
    provided = [user("a"), system(output_config={"effort": "low"})]
    assert kinds(items(*provided)) == ["user"]
    request = read(
        *provided, thinking={"type": "adaptive"}, output_config={"effort": "high"}
    ).request
    assert request.reasoning is not None
    assert request.reasoning.effort == "low"


def test_content_is_the_same_as_a_text_and_as_one_block_with_a_cache_marker() -> None:
    block = {**text("b"), "cache_control": {"type": "ephemeral"}}
    assert items(user("a"), system("b")) == items(user("a"), system(block))
    assert items(user("b")) == items(user(block))


def test_a_system_message_can_be_cleared_by_the_next_user_message() -> None:
    note = system("note", clear_at="next_user_message")
    assert kinds(items(user("a"), note)) == ["user", "developer"]
    assert kinds(items(user("a"), note, user("b"))) == ["user", "user"]


# Turns.


def test_consecutive_messages_of_a_role_are_one_turn() -> None:
    assert items(user("a"), user("b"))[0]["content"] == [
        {"type": "input_text", "text": "a"},
        {"type": "input_text", "text": "b"},
    ]


def test_empty_texts_are_dropped() -> None:
    """claude-code#62396, opencode#24087: clients send back what other servers emitted."""
    found = items(
        user(text("a"), text("")),
        assistant(text(""), use()),
        user(result(), text("")),
        tools=[tool()],
    )
    assert kinds(found) == ["user", "function_call", "function_call_output"]
    assert refused(user(text(""))).param == "messages"


def test_a_last_text_of_the_model_is_the_beginning_of_the_answer() -> None:
    translated = read(user("a"), assistant("The answer is \n"))
    assert translated.request.is_prefilled
    assert (
        items(user("a"), assistant("The answer is \n"))[-1]["content"][0]["text"] == "The answer is"
    )
    assert not read(user("a"), assistant("b"), user("c")).request.is_prefilled


def test_a_turn_that_ends_in_a_tool_of_the_server_continues() -> None:
    call = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "q"},
    }
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    assert not read(user("a"), assistant(call, found)).request.is_prefilled
    assert kinds(items(user("a"), assistant(text("b"), call))) == ["user", "assistant"]


# Results.


def test_results_come_first_and_all_else_follows() -> None:
    """ogx#6367, claudex#8: text and images around results are kept, and none is between calls and
    results.
    """
    found = items(
        user("go"),
        assistant(use("a"), use("b")),
        user(text("first"), result("b", [image()]), text("second"), result("a", "A")),
        tools=[tool()],
    )
    assert kinds(found) == [
        "user",
        "function_call",
        "function_call",
        *["function_call_output"] * 2,
        "user",
    ]
    assert [one["call_id"] for one in found[3:5]] == ["b", "a"]
    assert [part["text"] for part in found[5]["content"]] == ["first", "second"]


def test_images_of_results_reach_a_chat_model_after_all_results() -> None:
    """gajae-code#4807, oh-my-pi#5850, dsh-commandcode-provider#33, mlx-vlm#1060, any-llm#1311."""
    request = read(
        user("go"),
        assistant(use("a"), use("b")),
        user(result("a", [image()]), result("b", [image()]), text("see")),
        tools=[tool()],
    ).request
    request_input = normalise_input(request.input, lambda prefix: f"{prefix}_1")
    messages = to_messages(request_input, None, DIALECTS["generic"])
    assert [one["role"] for one in messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
    ]
    assert [part["type"] for part in messages[4]["content"]].count("image_url") == 2


def test_a_call_needs_its_result_and_a_result_its_call() -> None:
    missing = refused(user("a"), assistant(use("x"), use("y")), user(result("x")), tools=[tool()])
    assert missing.param == "messages.1"
    assert "ids were found without `tool_result` blocks immediately after: y" in missing.message
    unknown = refused(user("a"), assistant("b"), user(result("z")))
    assert unknown.param == "messages.2.content.0"
    assert "unexpected `tool_use_id` found in `tool_result` blocks: z" in unknown.message
    twice = refused(user("a"), assistant(use("x")), user(result("x"), result("x")), tools=[tool()])
    assert twice.param == "messages.2.content.1"
    assert refused(user("a"), assistant(use("x"))).param == "messages.1"


def test_tokens_are_counted_of_any_part() -> None:
    """copilot-api#134: Claude Code counts single messages."""
    assert kinds(items(user(result("x", "A")), is_count=True)) == ["function_call_output"]
    assert kinds(items(assistant(use("x")), is_count=True)) == ["function_call"]
    assert items(user(""), is_count=True) == []


def test_a_failed_result_is_marked_as_failed() -> None:
    """any-llm#1311: `is_error` was lost without a word."""
    provided = [user("a"), assistant(use("x"))]

    def output(content: object) -> object:
        return items(*provided, user(result("x", content, is_error=True)), tools=[tool()])[-1][
            "output"
        ]

    assert output("no such file") == "Error:\nno such file"
    assert output("Error: no such file") == "Error: no such file"
    assert output(None) == "Error:"
    assert output([image()]) == [{"type": "input_text", "text": "Error:"}, output([image()])[1]]  # type: ignore[index]


def test_a_result_without_content_is_empty() -> None:
    assert (
        items(user("a"), assistant(use("x")), user(result("x")), tools=[tool()])[-1]["output"] == ""
    )


def test_ids_pass_through_unless_they_are_too_long() -> None:
    found = items(
        user("a"), assistant(use("toolu_x-y_z")), user(result("toolu_x-y_z")), tools=[tool()]
    )
    assert [one["call_id"] for one in found[1:]] == ["toolu_x-y_z"] * 2
    long = "t" * 100
    found = items(user("a"), assistant(use(long)), user(result(long)), tools=[tool()])
    assert found[1]["call_id"] == found[2]["call_id"]
    assert len(found[1]["call_id"]) <= 64


def test_an_input_that_is_no_object_is_encoded_as_it_is() -> None:
    block = {"type": "tool_use", "id": "x", "name": "f", "input": ["a"]}
    assert items(user("a"), assistant(block), user(result("x")))[1]["arguments"] == '["a"]'


# Thinking.

OURS = {"type": "thinking", "thinking": "why", "signature": "ar1.k.blob"}


def test_our_signature_becomes_sealed_reasoning_and_the_text_is_ignored() -> None:
    [_, reasoning, _, _] = items(user("a"), assistant(OURS, text("b")), user("c"))
    assert reasoning["encrypted_content"] == "ar1.k.blob"
    assert reasoning["summary"] == []
    assert "content" not in reasoning


def test_any_other_signature_is_dropped_and_reported_and_never_an_error() -> None:
    """CLIProxyAPI#2172, CLIProxyAPI#3052, Antigravity-Manager#3478, cc-switch#3930, openclaw#92019,
    ccs#415.
    """
    blocks = [
        {"type": "thinking", "thinking": "why", "signature": "EqQBCgIYAhIM"},
        {"type": "thinking", "thinking": "why", "signature": ""},
        {"type": "thinking", "thinking": "why"},
        {"type": "thinking", "thinking": "why", "signature": None},
        {"type": "redacted_thinking", "data": "EtEC"},
    ]
    provided = [user("a"), assistant(*blocks, text("b")), user("c")]
    assert kinds(items(*provided)) == ["user", "assistant", "user"]
    dropped = read(*provided).view.dropped
    assert [one["path"] for one in dropped] == [f"messages.1.content.{place}" for place in range(5)]
    assert {one["reason"] for one in dropped} == {"organization_binding_mismatch"}


def test_redacted_thinking_of_ours_is_sealed_reasoning() -> None:
    found = items(
        user("a"), assistant({"type": "redacted_thinking", "data": "ar1.k.b"}, text("b")), user("c")
    )
    assert found[1]["encrypted_content"] == "ar1.k.b"


def test_thinking_of_older_turns_is_cleared_if_the_client_wants_it() -> None:
    provided = [
        user("a"),
        assistant(OURS, text("b")),
        user("c"),
        assistant(OURS, text("d")),
        user("e"),
    ]

    def stored(save: object) -> int:
        edits = [{"type": "clear_thinking_20251015", **({} if save is None else {"keep": save})}]
        return kinds(items(*provided, context_management={"edits": edits})).count("reasoning")

    assert stored("all") == 2
    assert stored({"type": "thinking_turns", "value": 1}) == 1
    assert stored({"type": "thinking_turns", "value": 9}) == 2
    assert stored(None) == 1


# Compaction, and blocks in the wrong place.


def test_a_compaction_replaces_what_comes_before() -> None:
    block = {"type": "compaction", "content": "They greeted."}
    found = items(user("a"), assistant(block, text("b")), user("c"), system="Be kind.")
    assert kinds(found) == ["developer", "assistant", "user"]
    assert found[0]["content"] == "They greeted."
    sealed = {"type": "compaction", "content": "They greeted.", "encrypted_content": "ar1.k.c"}
    found = items(user("a"), assistant(sealed, text("b")), user("c"), system=[text("Be kind.")])
    assert kinds(found) == ["developer", "compaction", "assistant", "user"]
    failed = {"type": "compaction", "content": None}
    assert kinds(items(user("a"), assistant(failed, text("b")), user("c"))) == [
        "user",
        "assistant",
        "user",
    ]


def test_a_block_of_another_role_is_rejected_by_its_name() -> None:
    assert refused(user(use())).param == "messages.0.content.0"
    assert "`tool_use` blocks can only be in `assistant`" in refused(user(use())).message
    assert "`tool_result`" in refused(user("a"), assistant(result())).message
    assert "`image`" in refused(user("a"), system(image())).message
    addition = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}
    assert "`tool_addition` blocks can only be in `system`" in refused(user(addition)).message


def test_citations_of_an_earlier_answer_stay_annotations() -> None:
    citation = {
        "type": "web_search_result_location",
        "url": "https://a.example/",
        "title": "A",
        "cited_text": "b",
    }
    block = {
        **text("It is."),
        "citations": [citation, {"type": "char_location", "document_index": 0}],
    }
    [annotation] = items(user("a"), assistant(block), user("c"))[1]["content"][0]["annotations"]
    assert annotation == {
        "type": "url_citation",
        "url": "https://a.example/",
        "title": "A",
        "start_index": 0,
        "end_index": 6,
    }


def test_every_item_has_the_place_of_its_block() -> None:
    translated = read(
        user("a"), assistant(text("b"), use("x")), user(text("c"), result("x")), system=[text("s")]
    )
    view = translated.view
    assert isinstance(translated.request.input, list)
    assert [view.place(f"input[{index}].x") for index in range(len(translated.request.input))] == [
        "system",
        "messages.0.content.0",
        "messages.1.content.0",
        "messages.1.content.1",
        "messages.2.content.1",
        "messages.2.content.0",
    ]


def test_reading_is_quick_for_many_messages() -> None:
    """A conversation of 100,000 messages is read in one pass."""
    provided = [user("a") if number % 2 else assistant("b") for number in range(1, 4000)]
    assert len(msgspec.to_builtins(read(*provided).request.input)) == len(provided)
