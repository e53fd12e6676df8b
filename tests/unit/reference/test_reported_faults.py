"""Faults that users of other servers reported, and the test of each here.

Those of the Messages API are the 30 of the specification of that front, by their numbers, and those
of chat completions over a run are the 15 of theirs. A test names a thread in its docstring or its
name.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

CONVERSATION = "unit/translation/from_messages/test_conversation.py"
CATALOGUE = "unit/translation/from_messages/test_catalogue.py"
REQUEST = "unit/translation/from_messages/test_request.py"
ENCODER = "unit/translation/to_messages/test_encoder.py"
DECODING = "unit/protocol/messages/test_decoding.py"
ERRORS = "unit/protocol/messages/test_errors.py"
MESSAGES = "integration/server/resources/test_messages.py"
MODELS = "integration/server/resources/test_message_models.py"
CHAT = "integration/server/test_chat_runs.py"

MESSAGES_API: dict[int, tuple[str, str, str]] = {
    1: ("ollama#17774", CONVERSATION, "a_system_message_stays_where_it_is"),
    2: ("litellm#33224", ENCODER, "reasoning_between_texts_has_blocks_of_its_own"),
    3: ("ollama#17101", ENCODER, "text_reasoning_text_and_a_call_have_consecutive_indexes"),
    4: (
        "litellm#32357",
        ENCODER,
        "a_second_start_of_the_response_writes_no_second_message_start",
    ),
    5: ("litellm#25321", ENCODER, "arguments_that_arrive_only_at_the_end_are_sent"),
    6: ("litellm#26853", ENCODER, "an_answer_of_calls_and_an_empty_answer_have_no_text_block"),
    7: ("ogx#6367", CONVERSATION, "results_come_first_and_all_else_follows"),
    8: ("claudex#8", CONVERSATION, "results_come_first_and_all_else_follows"),
    9: (
        "gajae-code#4807",
        CONVERSATION,
        "images_of_results_reach_a_chat_model_after_all_results",
    ),
    10: ("mlx-vlm#1060", CONVERSATION, "images_of_results_reach_a_chat_model_after_all_results"),
    11: ("any-llm#1311", CONVERSATION, "a_failed_result_is_marked_as_failed"),
    12: (
        "CLIProxyAPI#2172",
        CONVERSATION,
        "any_other_signature_is_dropped_and_reported_and_never_an_error",
    ),
    13: ("codex-proxy#587", ENCODER, "cached_tokens_are_counted_once"),
    14: (
        "claudish#123",
        ENCODER,
        "the_start_has_an_estimate_and_the_end_the_count_of_the_backend",
    ),
    15: (
        "CLIProxyAPI#6022",
        ENCODER,
        "the_start_has_an_estimate_and_the_end_the_count_of_the_backend",
    ),
    16: ("litellm#24176", ENCODER, "usage_has_the_fields_that_clients_need"),
    17: ("litellm#36024", ENCODER, "a_ping_follows_the_start_and_each_silence"),
    18: ("ogx#6007", ENCODER, "a_stream_that_fails_ends_with_an_error_wherever_it_fails"),
    19: ("OmniRoute#5063", MESSAGES, "a_client_that_disconnects_is_no_failure_of_the_backend"),
    20: ("Floway#166", ENCODER, "a_prompt_that_is_too_long_is_reported_with_its_numbers"),
    21: ("grok2api#598", ERRORS, "the_reason_of_the_backend_is_in_the_message"),
    22: ("llama.cpp#20623", CONVERSATION, "the_attribution_line_is_dropped"),
    23: ("vllm#48273", ENCODER, "a_stop_sequence_is_named"),
    24: ("ollama#15287", REQUEST, "thinking_is_not_switched_on_unless_requested"),
    25: ("CLIProxyAPI#364", CATALOGUE, "the_web_is_one_tool"),
    26: ("copilot-api#134", CONVERSATION, "tokens_are_counted_of_any_part"),
    27: ("Antigravity-Manager#3359", MODELS, "a_probe_of_one_token_is_answered"),
    28: (
        "codex2api#613",
        DECODING,
        "a_thousand_tools_and_any_number_of_cache_markers_are_accepted",
    ),
    29: (
        "billion-context#72",
        MESSAGES,
        "later_streams_begin_with_what_the_model_was_seen_to_count",
    ),
    30: (
        "claude-code#11387",
        MODELS,
        "a_name_of_claude_calls_the_model_of_the_settings",
    ),
}

CHAT_RUNS: dict[int, tuple[str, str, str]] = {
    1: ("litellm_33221", CHAT, "litellm_33221_a_refusal_is_learned_and_the_same_request_runs"),
    2: ("litellm_41109", CHAT, "litellm_41109_text_is_sent_once_next_to_a_call"),
    3: (
        "litellm_pr_37710",
        CHAT,
        "litellm_pr_37710_an_incomplete_answer_has_its_reason_and_usage",
    ),
    4: ("litellm_22448", CHAT, "litellm_22448_reasoning_is_restored_by_the_id_of_a_call"),
    5: (
        "litellm_40364",
        CHAT,
        "litellm_40364_reasoning_that_a_client_returns_goes_back_to_its_backend",
    ),
    6: ("litellm_12432", CHAT, "litellm_12432_summaries_of_reasoning_stream"),
    7: (
        "litellm_18201",
        CHAT,
        "litellm_18201_17507_the_content_of_a_tool_message_is_translated",
    ),
    8: ("17507", CHAT, "litellm_18201_17507_the_content_of_a_tool_message_is_translated"),
    9: ("litellm_16844", CHAT, "litellm_16844_the_format_of_an_answer_is_a_format"),
    10: ("litellm_16810", CHAT, "litellm_16810_a_setting_forces_either_path"),
    11: (
        "litellm_20905",
        CHAT,
        "litellm_20905_an_item_that_a_completion_cannot_contain_is_an_error",
    ),
    12: ("litellm_25321", CHAT, "litellm_25321_arguments_that_come_at_once_are_not_lost"),
    13: (
        "oh_my_pi_5850",
        CHAT,
        "oh_my_pi_5850_images_of_tools_follow_all_results_at_a_chat_backend",
    ),
    14: (
        "copilot_sdk_1081",
        CHAT,
        "copilot_sdk_1081_litellm_8450_a_stream_ends_with_its_reason_then_its_usage",
    ),
    15: (
        "litellm_8450",
        CHAT,
        "copilot_sdk_1081_litellm_8450_a_stream_ends_with_its_reason_then_its_usage",
    ),
}

FAULTS = [*MESSAGES_API.values(), *CHAT_RUNS.values()]


@cache
def names_in(path: str) -> dict[str, str]:
    """The tests of a file, with what each says of itself."""
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    tests = [
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {one.name: f"{one.name} {ast.get_docstring(one)}" for one in tests}


@pytest.mark.parametrize(("thread", "path", "name"), FAULTS, ids=[one[0] for one in FAULTS])
def test_a_reported_fault_has_a_test_that_names_its_thread(
    thread: str, path: str, name: str
) -> None:
    assert thread in names_in(path)[f"test_{name}"]


def test_no_fault_is_left_out() -> None:
    assert [*MESSAGES_API] == [*range(1, 31)]
    assert [*CHAT_RUNS] == [*range(1, 16)]
