"""The parameters of a request of the Messages API, and the requests that clients really sent."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.protocol.messages.decoding import decode_count, decode_create
from antiphon.translation.from_messages.request import read_request
from antiphon.translation.from_messages.view import Call
from tests.support.cases import each
from tests.support.messages_recordings import CASES, REQUESTS, SENT, name
from tests.support.messages_requests import assistant, read, refused, text, tool, user
from tests.support.recordings import MISSING

UNSUPPORTED = {
    *(
        "_error.request",
        "computer_use",
        "programmatic_tool_use",
        "skills",
        "advisor_tool",
        "boolean_root_schema",
    ),
    *("scalar_root_ref", "tools_call_with_tool_result_stream"),
}
"""What the recorded requests have that this server, or Anthropic's, rejects by name; the last has
an unknown id.
"""


@pytest.mark.skipif(not REQUESTS, reason=MISSING)
@each("path", [*REQUESTS, *CASES], ids=name)
def test_recorded_requests_are_translated_or_rejected_by_name(path: Any) -> None:
    if any(part in path.name for part in UNSUPPORTED):
        return
    raw = path.read_bytes()
    decoded = decode_create(raw) if "max_tokens" in json.loads(raw) else decode_count(raw)
    translated = read_request(decoded, Call())
    assert translated.request.model == decoded.model
    assert len(translated.view.places) == len(translated.request.input)  # type: ignore[arg-type]
    assert len(translated.view.tool_places) == len(translated.request.tools or [])


@pytest.mark.skipif(not SENT, reason=MISSING)
@each("sent", SENT, ids=lambda sent: str(sent[0]))
def test_what_claude_code_sent_is_translated(sent: tuple[str, dict[str, Any]]) -> None:
    path, provided = sent
    for message in provided["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            for inner in (
                block.get("content") or [] if isinstance(block.get("content"), list) else []
            ):
                if inner["type"] == "image":
                    inner["source"]["data"] = "iVBORw0KGgo="
    raw = json.dumps(provided).encode()
    decoded = decode_count(raw) if "count_tokens" in path else decode_create(raw)
    request = read_request(decoded, Call()).request
    assert isinstance(request.input, list)
    assert "DeferredToolPlaceholder" not in {
        getattr(one, "name", "") for one in request.tools or []
    }
    if "count_tokens" not in path and provided.get("thinking", {}).get("type") == "adaptive":
        assert request.reasoning is not None
        assert request.reasoning.effort in ("medium", "high", "low", "xhigh")


@pytest.mark.skipif(not CASES, reason=MISSING)
def test_the_first_turn_of_an_agent() -> None:
    [case] = [path for path in CASES if path.name.startswith("01")]
    translated = read_request(decode_create(case.read_bytes()), Call())
    request = translated.request
    assert [getattr(one, "role", "") for one in request.input] == ["developer", "user", "developer"]  # type: ignore[union-attr]
    assert [getattr(one, "name", "") for one in request.tools or []] == ["Read"]
    assert request.reasoning is not None
    assert request.reasoning.effort == "medium"
    assert request.prompt_cache_key == "s"
    assert translated.view.edits is not None


# Parameters.


def test_parameters_cross() -> None:
    request = read(temperature=0.5, top_p=0.9, stream=True, metadata={"user_id": "ada"}).request
    assert (request.temperature, request.top_p, request.stream) == (0.5, 0.9, True)
    assert request.store is False
    assert request.max_output_tokens == 100
    assert request.safety_identifier is not None
    assert len(request.safety_identifier) == 64
    assert "ada" not in request.safety_identifier


def test_sampling_parameters_are_applied_in_both_versions() -> None:
    for version in ("2023-06-01", "2026-10-21"):
        translated = read(temperature=1.0, top_k=5, call=Call(version=version))
        assert translated.request.temperature == 1.0
        assert translated.request.optional == {"top_k": 5}


def test_what_the_blocks_of_an_answer_show_is_included() -> None:
    assert "reasoning.encrypted_content" in (read().request.include or [])
    assert "web_search_call.results" in (read().request.include or [])


def test_stop_sequences_are_for_the_run() -> None:
    assert read(stop_sequences=["END", "", "###"]).request.stop == ["END", "###"]


def test_no_tokens_only_fill_the_cache() -> None:
    translated = read(max_tokens=0)
    assert translated.view.is_warming
    assert translated.request.max_output_tokens is None
    assert translated.request.prompt_cache_options == {"prewarm": True}


@each(
    "tier, speed, expected",
    [
        ("auto", None, "auto"),
        ("standard_only", None, "default"),
        (None, "fast", "priority"),
        (None, "standard", None),
    ],
)
def test_a_service_tier_crosses(tier: str | None, speed: str | None, expected: str | None) -> None:
    assert read(service_tier=tier, speed=speed).request.service_tier == expected


def test_the_session_of_the_client_is_the_key_of_its_prompt_cache() -> None:
    user_id = '{"device_id": "d", "account_uuid": "", "session_id": "s1"}'
    assert read(metadata={"user_id": user_id}).request.prompt_cache_key == "s1"
    assert (
        read(metadata={"user_id": user_id}, call=Call(session="s2")).request.prompt_cache_key
        == "s2"
    )
    assert read(call=Call(session="s2", agent="a")).request.prompt_cache_key == "s2:a"
    assert len(read(call=Call(session="s2", agent="a" * 99)).request.prompt_cache_key or "") == 64
    assert read(metadata={"user_id": "{no json"}).request.prompt_cache_key is None
    assert read().request.prompt_cache_key is None


# Thinking.


def reasoning(**fields: Any) -> Any:
    found = read(**{"max_tokens": 64_000, **fields}).request.reasoning
    return None if found is None else (found.effort, found.summary)


def test_thinking_is_not_switched_on_unless_requested() -> None:
    """ollama#15287, free-claude-code#898."""
    assert reasoning() is None
    assert reasoning(output_config={"effort": "high"}) is None
    assert reasoning(thinking={"type": "disabled"}) == ("none", None)
    assert reasoning(thinking={"type": "between_tools"}) == ("none", None)


def test_thinking_has_the_effort_of_its_budget_or_of_the_request() -> None:
    budgets = {1024: "low", 4095: "low", 4096: "medium", 16_383: "medium", 16_384: "high"}
    for budget, effort in budgets.items():
        assert reasoning(thinking={"type": "enabled", "budget_tokens": budget}) == (effort, "auto")
    adaptive = {"type": "adaptive"}
    assert reasoning(thinking=adaptive) == (None, None)
    assert reasoning(thinking=adaptive, output_config={"effort": "max"}) == ("max", None)
    assert read(thinking={"type": "enabled", "budget_tokens": 2000}).request.optional == {
        "thinking_budget": 2000
    }


@each(
    "thinking, display",
    [
        (None, "hidden"),
        ({"type": "disabled"}, "hidden"),
        ({"type": "enabled", "budget_tokens": 1024}, "summarized"),
        ({"type": "enabled", "budget_tokens": 1024, "display": "omitted"}, "omitted"),
        ({"type": "adaptive"}, "omitted"),
        ({"type": "adaptive", "display": "summarized"}, "summarized"),
        ({"type": "adaptive", "display": "updates"}, "summarized"),
    ],
)
def test_thinking_is_displayed_as_the_client_requests(thinking: Any, display: str) -> None:
    assert read(max_tokens=5000, thinking=thinking).view.display == display


def test_unrequested_thinking_is_sent_only_if_the_model_needs_it_back() -> None:
    """free-claude-code#898: many clients read the text of the first block."""
    assert read().view.display == "hidden"
    assert read(tools=[tool()]).view.display == "omitted"


# The format of the answer.

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def test_a_format_crosses_by_both_names() -> None:
    for fields in (
        {"output_config": {"format": {"type": "json_schema", "schema": CLOSED}}},
        {"output_format": {"type": "json_schema", "schema": CLOSED}},
    ):
        text_config = read(**fields).request.text
        assert text_config is not None
        assert msgspec.to_builtins(text_config.format)["schema"] == CLOSED
        assert msgspec.to_builtins(text_config.format)["strict"] is True


def test_a_format_with_optional_properties_is_not_strict() -> None:
    loose = {**CLOSED, "required": []}
    text_config = read(
        output_config={"format": {"type": "json_schema", "schema": loose}}
    ).request.text
    assert text_config is not None
    assert msgspec.to_builtins(text_config.format)["strict"] is None


def test_an_invalid_format_is_rejected() -> None:
    wrong = {"type": "json_schema", "schema": {"type": "nothing"}}
    assert refused(output_config={"format": wrong}).param == "output_config.format.schema"
    assert refused(output_format=wrong).param == "output_format.schema"


def test_state_on_the_server_is_rejected_by_name() -> None:
    assert refused(thread={"type": "create"}).param == "thread"
    assert refused(compaction={"type": "forget"}).param == "compaction.type"


def test_parameters_that_change_nothing_are_accepted() -> None:
    read(
        cache_control={"type": "ephemeral"},
        inference_geo="us",
        fallbacks="default",
        billing_policy={},
    )


def test_a_prompt_is_compared_with_that_of_an_earlier_message() -> None:
    first = read(diagnostics={"previous_message_id": None})
    assert (first.view.diagnoses, first.view.previous_message) == (True, None)
    assert first.request.is_compared
    assert read(diagnostics={"previous_message_id": "msg_1"}).view.previous_message == "msg_1"
    assert not read().request.is_compared
    error = refused(diagnostics={"previous_message_id": 1})
    assert error.param == "diagnostics.previous_message_id"


# Images and documents.


def part(block: dict[str, Any]) -> Any:
    """The content of a user message with this block and a text."""
    content = msgspec.to_builtins(read(user(block, text("see"))).request.input)[0]["content"]
    return [
        {name: value for name, value in one.items() if value is not None} for one in content[:-1]
    ]


def document(source: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "document", "source": source, **more}


def test_the_type_of_an_image_is_that_of_its_bytes() -> None:
    source = {"type": "base64", "media_type": "image/jpeg", "data": "iVBORw0KGgo="}
    assert part({"type": "image", "source": source})[0]["image_url"].startswith(
        "data:image/png;base64,"
    )
    url = {"type": "url", "url": "https://a.example/a.png"}
    assert part({"type": "image", "source": url})[0]["image_url"] == url["url"]


@each(
    "source",
    [
        {"type": "base64", "media_type": "image/png", "data": "not base64!"},
        {"type": "base64", "media_type": "image/tiff", "data": "AAAA"},
        {"type": "url", "url": "http://127.0.0.1/a.png"},
    ],
)
def test_an_invalid_image_is_rejected_where_it_is(source: dict[str, Any]) -> None:
    error = refused(user(text("a"), {"type": "image", "source": source}))
    assert error.param == "messages.0.content.1.source"


def test_documents_are_files_or_texts() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}
    [found] = part(document(pdf, title="Report"))
    assert (found["filename"], found["file_data"]) == (
        "Report.pdf",
        "data:application/pdf;base64,JVBERi0x",
    )
    assert part(document(pdf))[0]["filename"] == "document.pdf"
    plain = {"type": "text", "media_type": "text/plain", "data": "It is."}
    [found] = part(document(plain, title="T", context="C", citations={"enabled": True}))
    assert found["text"] == "Document: T\nC\n\nIt is."
    blocks = {"type": "content", "content": [text("a"), text("b")]}
    assert [one["text"] for one in part(document(blocks, title="T"))] == ["Document: T", "a", "b"]
    assert part(document({"type": "content", "content": "a"}))[0]["text"] == "a"
    url = {"type": "url", "url": "https://a.example/a.pdf"}
    assert part(document(url))[0]["file_url"] == url["url"]
    assert part(document({"type": "file", "file_id": "file-1"}))[0]["file_id"] == "file-1"


def test_search_results_are_text_with_their_source() -> None:
    block = {
        "type": "search_result",
        "source": "https://a.example/",
        "title": "A",
        "content": [text("b")],
    }
    assert part(block)[0]["text"] == "A\nhttps://a.example/\n\nb"


def test_a_document_in_an_answer_is_text() -> None:
    plain = {"type": "text", "media_type": "text/plain", "data": "It is."}
    translated = read(user("a"), assistant(document(plain)), user("b"))
    assert msgspec.to_builtins(translated.request.input)[1]["content"][0]["text"] == "It is."
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}
    assert refused(user("a"), assistant(document(pdf)), user("b")).param == "messages.1.content.0"
