"""Streams of the Messages API: the grammar for any items in any pieces, and the faults of other
servers.

Each fault is named by the thread that reports it.
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.protocol import events
from antiphon.protocol.items.calls import ShellAction, ShellCall, ShellCallOutput, ShellOutput
from antiphon.protocol.items.content import OutputText, ReasoningText, Refusal, SummaryText
from antiphon.protocol.items.hosted import CodeInterpreterCall, McpCall, WebSearchCall
from antiphon.protocol.items.messages import Compaction, FunctionCall, Message, Reasoning
from antiphon.protocol.response import InputTokensDetails, Response, Usage
from antiphon.translation.from_messages.context_edits import ContextEdits
from antiphon.translation.from_messages.view import MessagesView
from antiphon.translation.to_messages.blocks import Blocks
from antiphon.translation.to_messages.encoder import MessagesEncoder
from antiphon.translation.to_messages.message import message_of, token_count
from tests.support.chance import examples
from tests.support.messages_play import played, words, writer_of
from tests.support.messages_stream import events_in, fold, violations

DISPLAYED = MessagesView(display="summarized")


def encoder(
    view: MessagesView = DISPLAYED, sealed: dict[str, str] | None = None, tokens: int = 12
) -> MessagesEncoder:
    return MessagesEncoder(Blocks(view=view, sealed=sealed or {}), "claude-x", tokens, "req_1")


def encoded(
    batch: Sequence[events.Event], view: MessagesView = DISPLAYED, size: int = 1000
) -> bytes:
    """The bytes of a stream; `size` events are encoded at a time."""
    one = encoder(view)
    stream = b"".join(
        one.encode(batch[place : place + size]) for place in range(0, len(batch), size)
    )
    assert violations(stream) == []
    return stream


def streamed(*items: Any, view: MessagesView = DISPLAYED, **more: Any) -> dict[str, Any]:
    """The message that a client makes of the stream of these items."""
    batch, _ = played(items, **more)
    return fold(encoded(batch, view))


def content(*items: Any, view: MessagesView = DISPLAYED, **more: Any) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = streamed(*items, view=view, **more)["content"]
    return blocks


def stated(text: str, number: int = 1, **more: Any) -> Message:
    return Message(id=f"msg_{number}", role="assistant", content=[OutputText(text=text, **more)])


def thought(text: str, number: int = 1, blob: str = "ar1.k.sealed") -> Reasoning:
    return Reasoning(
        id=f"rs_{number}", summary=[], content=[ReasoningText(text=text)], encrypted_content=blob
    )


def call(arguments: str = '{"a":1}', number: int = 1, call_id: str = "") -> FunctionCall:
    return FunctionCall(
        id=f"fc_{number}", call_id=call_id or f"call_{number}", name="f", arguments=arguments
    )


# Any items.

TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXTS, JSON, max_size=3).map(json.dumps) | st.sampled_from(
    [
        "",
        "{}",
        "[1]",
        "{",
        '{"a": tru',
        '{"a": "b',
        "null",
        '{"a": 1,}',
        "words",
        '{"a": 12',
        '{"a":"\\u00',
    ]
)
ANNOTATIONS = st.lists(
    st.builds(
        lambda start, end: {
            "type": "url_citation",
            "url": "https://a.example/",
            "title": "A",
            "start_index": start,
            "end_index": end,
        },
        st.integers(0, 40),
        st.integers(0, 40),
    )
    | st.just({"type": "file_citation", "file_id": "file-1"}),
    max_size=2,
)


def item(draw: st.DrawFn, number: int) -> Any:
    kind = draw(st.integers(0, 9))
    match kind:
        case 0 | 1:
            part = st.builds(OutputText, text=TEXTS, annotations=ANNOTATIONS) | st.builds(
                Refusal, refusal=TEXTS
            )
            return Message(
                id=f"msg_{number}", role="assistant", content=draw(st.lists(part, max_size=3))
            )
        case 2:
            texts = draw(st.lists(TEXTS, max_size=3))
            if draw(st.booleans()):
                item = Reasoning(
                    id=f"rs_{number}", summary=[SummaryText(text=text) for text in texts]
                )
            else:
                item = Reasoning(
                    id=f"rs_{number}",
                    summary=[],
                    content=[ReasoningText(text=text) for text in texts],
                )
            item.encrypted_content = draw(st.sampled_from([None, "ar1.k.x"]))
            return item
        case 3 | 4 | 5:
            return call(
                draw(ARGUMENTS), number, draw(st.sampled_from(["", "functions.f:0", "toolu_1-x"]))
            )
        case 6:
            action: dict[str, Any] = draw(
                st.sampled_from(
                    [
                        {
                            "type": "search",
                            "query": "q",
                            "queries": ["q"],
                            "sources": [{"url": "https://a.example/"}],
                        },
                        {"type": "open_page", "url": "https://a.example/"},
                    ]
                )
            )
            status: Any = draw(st.sampled_from(["completed", "failed"]))
            return WebSearchCall(id=f"ws_{number}", status=status, action=action)
        case 7:
            outputs = [{"type": "logs", "logs": draw(TEXTS)}]
            return CodeInterpreterCall(
                id=f"ci_{number}", container_id="cntr_1", code=draw(TEXTS), outputs=outputs
            )
        case 8:
            arguments = draw(ARGUMENTS)
            return McpCall(
                id=f"mcp_{number}",
                arguments=arguments,
                name="t",
                server_label="s",
                output=draw(TEXTS),
            )
        case _:
            return Compaction(id=f"cmp_{number}", encrypted_content="ar1.k.y")


@st.composite
def outputs(draw: st.DrawFn) -> list[Any]:
    return [item(draw, number) for number in range(draw(st.integers(0, 5)))]


@pytest.mark.wide
@examples(200)
@given(
    outputs(),
    st.integers(1, 9),
    st.integers(1, 12),
    st.booleans(),
    st.sampled_from(["summarized", "omitted", "hidden"]),
)
def test_any_items_match_the_grammar_and_are_the_plain_message(
    items: list[Any], size: int, batch_size: int, overlap: bool, display: Any
) -> None:
    """litellm#32357, ollama#17101, ollama#14816, litellm#13373: one start, indexes without gaps, no
    lost delta.
    """

    def pieces(text: str) -> list[str]:
        return [text[place : place + size] for place in range(0, len(text), size)]

    batch, response = played(items, pieces, Usage(input_tokens=5, output_tokens=3), overlap=overlap)
    view = MessagesView(display=display)
    written = fold(encoded(batch, view, batch_size))
    assert written == message_of(response, Blocks(view=view), "claude-x")


@examples(60)
@given(outputs(), st.integers(0, 60), st.booleans())
def test_a_stream_that_fails_ends_with_an_error_wherever_it_fails(
    items: list[Any], place: int, overlap: bool
) -> None:
    """ogx#6007, claude-code#61001: it must not end like one that is complete, nor just stop."""
    batch, _ = played(items, overlap=overlap)
    one = encoder()
    stream = one.encode(batch[: min(place, len(batch) - 1)]) + one.fail(BackendError("It is gone."))
    assert violations(stream) == []
    assert [name for name, _ in events_in(stream)][-1] == "error"
    assert one.encode(batch[place:]) == b""
    assert one.encode([events.Keepalive()]) == b""


# The order of blocks.


def test_reasoning_between_texts_has_blocks_of_its_own() -> None:
    """litellm#33224, litellm#32357: "Content block is not a thinking block"."""
    for items in (
        [thought("a"), stated("b")],
        [stated("b"), thought("a")],
        [stated("b"), thought("a"), stated("c", 2)],
    ):
        kinds = [block["type"] for block in content(*items)]
        assert kinds == ["thinking" if isinstance(one, Reasoning) else "text" for one in items]


def test_text_reasoning_text_and_a_call_have_consecutive_indexes() -> None:
    """ollama#17101, ollama#14816, ik_llama.cpp#1524, litellm#13373: "Content block not found"."""
    blocks = content(stated("a"), thought("b"), stated("c", 2), call())
    assert [block["type"] for block in blocks] == ["text", "thinking", "text", "tool_use"]


def test_a_second_start_of_the_response_writes_no_second_message_start() -> None:
    """litellm#32357: after a failover before the first byte, or a retry inside of the run."""
    batch, _ = played([stated("a")])
    assert violations(encoder().encode([*batch[:2], *batch])) == []


def test_calls_that_are_open_at_once_are_written_one_after_the_other() -> None:
    blocks = content(
        call('{"a":"xxxxxxxxxxxxxxx"}', 1), call('{"b":"yyyyyyyyyyyyyyyy"}', 2), overlap=True
    )
    assert [block["input"] for block in blocks] == [{"a": "x" * 15}, {"b": "y" * 16}]


def test_an_answer_of_calls_and_an_empty_answer_have_no_text_block() -> None:
    """litellm#26853, opencode#24087, claude-code#62396: an empty text is refused on the next
    turn.
    """
    assert [block["type"] for block in content(stated(""), call())] == ["tool_use"]
    assert content(stated("")) == []
    assert content() == []


# Calls.


def test_arguments_that_arrive_only_at_the_end_are_sent() -> None:
    """litellm#25321: the input of the call arrived empty."""
    batch, _ = played([call('{"city":"Oslo"}')], lambda text: [])
    assert fold(encoded(batch))["content"][0]["input"] == {"city": "Oslo"}


def test_arguments_that_arrive_with_the_name_are_sent() -> None:
    """litellm#25321."""
    writer = writer_of()
    writer.start()
    writer.add_item(call('{"city":"Oslo"}'))
    writer.complete(None)
    writer.end()
    assert fold(encoded(writer.take()))["content"][0]["input"] == {"city": "Oslo"}


def test_a_call_without_arguments_has_one_empty_delta() -> None:
    batch, _ = played([call("{}")], lambda text: [])
    deltas = [
        data["delta"] for name, data in events_in(encoded(batch)) if name == "content_block_delta"
    ]
    assert deltas == [{"type": "input_json_delta", "partial_json": ""}]


def test_arguments_that_are_not_json_are_sent_as_far_as_they_are() -> None:
    """vllm#48273: they must not become an error of the server, and both SDKs fail at a character
    that is not JSON.
    """
    batch, _ = played([call('{"a": "b", oops')], incomplete="max_output_tokens")
    stream = encoded(batch)
    sent = "".join(
        data["delta"]["partial_json"]
        for name, data in events_in(stream)
        if name == "content_block_delta"
    )
    assert sent == '{"a": "b'
    assert fold(stream)["stop_reason"] == "max_tokens"


def test_ids_that_clients_may_reject_are_replaced() -> None:
    blocks = content(call(number=7, call_id="functions.f:0"), call(number=8, call_id="call_abc-1"))
    assert [block["id"] for block in blocks] == ["toolu_7", "call_abc-1"]


# Thinking.


def test_the_signature_is_the_sealed_state_and_comes_once_and_last() -> None:
    [block] = content(thought("why", blob="ar1.k.seal"))
    assert block == {"type": "thinking", "thinking": "why", "signature": "ar1.k.seal"}


def test_the_seal_of_an_item_that_does_not_show_it_is_the_signature() -> None:
    batch, _ = played([thought("why", blob="")])
    one = encoder(sealed={"rs_1": "ar1.k.kept"})
    assert fold(one.encode(batch))["content"][0]["signature"] == "ar1.k.kept"


def test_a_signature_is_never_empty() -> None:
    """codex2api#613."""
    assert content(thought("why", blob=""))[0]["signature"]


def test_omitted_thinking_has_its_signature_alone() -> None:
    [block] = content(thought("why"), view=MessagesView(display="omitted"))
    assert block == {"type": "thinking", "thinking": "", "signature": "ar1.k.sealed"}


def test_hidden_thinking_has_no_block() -> None:
    assert [
        block["type"]
        for block in content(thought("why"), stated("a"), view=MessagesView(display="hidden"))
    ] == ["text"]


def test_sealed_state_without_a_text_is_thinking_too() -> None:
    sealed = Reasoning(id="rs_1", summary=[], encrypted_content="ar1.k.sealed")
    assert content(sealed) == [{"type": "thinking", "thinking": "", "signature": "ar1.k.sealed"}]
    assert content(Reasoning(id="rs_1", summary=[])) == []


def test_parts_of_a_summary_are_one_block() -> None:
    item = Reasoning(
        id="rs_1",
        summary=[SummaryText(text="a"), SummaryText(text="b")],
        encrypted_content="ar1.k.s",
    )
    assert content(item)[0]["thinking"] == "a\n\nb"


# Usage and the end.


def test_cached_tokens_are_counted_once() -> None:
    """codex-proxy#587, MTPLX#417, routatic/proxy#33: 1,000 tokens of which 900 are cached are 100,
    0 and 900.
    """
    usage = Usage(
        input_tokens=1000,
        input_tokens_details=InputTokensDetails(cached_tokens=900),
        output_tokens=7,
    )
    counted = streamed(stated("a"), usage=usage)["usage"]
    names = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    )
    assert [counted[name] for name in names] == [100, 0, 900, 7]


def test_the_start_has_an_estimate_and_the_end_the_count_of_the_backend() -> None:
    """claudish#123, CLIProxyAPI#1700, CLIProxyAPI#6022: no constant, no 0, no sum of chunks."""
    batch, _ = played([stated("a")], usage=Usage(input_tokens=40, output_tokens=2))
    stream = encoder(tokens=38).encode(batch)
    found = {
        name: data for name, data in events_in(stream) if name in ("message_start", "message_delta")
    }
    assert found["message_start"]["message"]["usage"]["input_tokens"] == 38
    assert found["message_delta"]["usage"]["input_tokens"] == 40
    assert found["message_delta"]["usage"]["output_tokens"] == 2


def test_usage_has_the_fields_that_clients_need() -> None:
    """litellm#24176."""
    counted = streamed(stated("a"))["usage"]
    assert counted["cache_creation"] == {
        "ephemeral_5m_input_tokens": 0,
        "ephemeral_1h_input_tokens": 0,
    }
    assert counted["cache_read_input_tokens"] == counted["cache_creation_input_tokens"] == 0
    assert counted["service_tier"] == "standard"


def test_a_stop_sequence_is_named() -> None:
    """vllm#48273."""
    batch, response = played([stated("a")])
    one = encoder()
    one.stop_sequence = "END"
    written = fold(one.encode(batch))
    assert (written["stop_reason"], written["stop_sequence"]) == ("stop_sequence", "END")
    assert written == message_of(response, Blocks(view=DISPLAYED), "claude-x", stop_sequence="END")


def test_the_reason_of_the_end_follows_from_the_response() -> None:
    refused = Message(id="msg_1", role="assistant", content=[Refusal(refusal="No.")])
    assert streamed(stated("a"))["stop_reason"] == "end_turn"
    assert streamed(stated("a"), call())["stop_reason"] == "tool_use"
    assert streamed(refused)["stop_details"]["type"] == "refusal"
    reasons = {
        "max_output_tokens": "max_tokens",
        "content_filter": "refusal",
        "max_messages": "pause_turn",
    }
    for incomplete, reason in reasons.items():
        assert streamed(stated("a"), call(), incomplete=incomplete)["stop_reason"] == reason


def test_a_full_window_is_its_own_reason() -> None:
    batch, _ = played([stated("a")], incomplete="max_output_tokens")
    one = encoder()
    one.is_window_full = True
    assert fold(one.encode(batch))["stop_reason"] == "model_context_window_exceeded"


def test_the_id_is_that_of_the_response() -> None:
    assert streamed(stated("a"))["id"] == "msg_0a1b"


# Silence and errors.


def test_a_ping_follows_the_start_and_each_silence() -> None:
    """litellm#36024, llmtrim#221, OmniRoute#5063, ogx#6007: clients of this API count events
    alone.
    """
    one = encoder()
    assert one.encode([events.Keepalive()]) == b""
    batch, _ = played([stated("a")])
    begin = one.encode(batch[:1])
    assert [name for name, _ in events_in(begin)] == ["message_start", "ping"]
    silence = one.encode([events.Keepalive()]) + one.encode([events.Keepalive()])
    assert [name for name, _ in events_in(silence)] == ["ping", "ping"]


def test_an_error_of_the_run_ends_the_stream_with_its_type() -> None:
    writer = writer_of()
    writer.start()
    writer.fail(BackendError.overloaded("The server is overloaded."))
    writer.end()
    *_, (name, data) = events_in(encoded(writer.take()))
    assert (name, data["error"]["type"], data["request_id"]) == (
        "error",
        "overloaded_error",
        "req_1",
    )


def test_a_prompt_that_is_too_long_is_reported_with_its_numbers() -> None:
    """Floway#166, ruby_llm#755, crewAI#4619, xum#2400: Claude Code compacts only after these
    words.
    """
    writer = writer_of()
    writer.start()
    writer.fail(ClientError("Your input exceeds the window.", code="context_length_exceeded"))
    writer.end()
    one = encoder()
    one.size = (250_000, 200_000)
    *_, (_, data) = events_in(one.encode(writer.take()))
    assert data["error"]["message"] == "prompt is too long: 250000 tokens > 200000 maximum"


def test_a_cancelled_response_ends_with_an_error() -> None:
    writer = writer_of()
    writer.start()
    writer.cancel()
    writer.end()
    assert [name for name, _ in events_in(encoded(writer.take()))][-1] == "error"


def test_an_error_before_the_start_is_an_event_too() -> None:
    assert [name for name, _ in events_in(encoder().fail(AntiphonError("It failed.")))] == ["error"]


# Tools of this server.


def test_a_web_search_has_result_blocks_and_is_counted() -> None:
    """CLIProxyAPI#121, CLIProxyAPI#364, claude-code-router#811, copilot-api#185: "Did 0
    searches".
    """
    search = WebSearchCall(
        id="ws_1",
        status="completed",
        action={
            "type": "search",
            "query": "q",
            "queries": ["q"],
            "sources": [{"type": "url", "url": "https://b.example/"}],
        },
        results=[{"type": "text", "url": "https://a.example/", "title": "A", "text": "…"}],
        encrypted_content="ar1.k.search",
    )
    message = streamed(search, stated("Found."))
    use, result, _ = message["content"]
    assert use == {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "q"},
    }
    assert result["tool_use_id"] == "srvtoolu_1"
    assert [page["url"] for page in result["content"]] == [
        "https://a.example/",
        "https://b.example/",
    ]
    assert result["content"][0]["encrypted_content"] == "ar1.k.search"
    assert message["usage"]["server_tool_use"] == {
        "web_search_requests": 1,
        "web_fetch_requests": 0,
    }


def test_a_page_shows_what_the_model_read() -> None:
    page = WebSearchCall(
        id="ws_1",
        status="completed",
        action={"type": "open_page", "url": "https://a.example/"},
        encrypted_content="ar1.x~y",
    )
    batch, response = played([page])
    blocks = Blocks(view=DISPLAYED, unseal=lambda blob: {"said": f"Opened {blob}"})
    written = fold(MessagesEncoder(blocks, "m", 1, "req_1").encode(batch))
    assert written["content"][1]["content"]["content"]["source"]["data"] == "Opened ar1.x"
    assert written == message_of(response, blocks, "m")


def test_commands_and_their_output_are_a_pair_of_blocks() -> None:
    action = ShellAction(commands=["ls", "false"])
    environment = {"type": "container_reference", "container_id": "cntr_1"}
    output = [
        ShellOutput(stdout="a\n", stderr="", outcome={"type": "exit", "exit_code": 0}),
        ShellOutput(stdout="", stderr="bad", outcome={"type": "exit", "exit_code": 2}),
    ]
    message = streamed(
        ShellCall(id="sh_1", call_id="call_9", action=action, environment=environment),
        ShellCallOutput(id="sho_1", call_id="call_9", output=output),
    )
    use, result = message["content"]
    assert use["input"] == {"command": "ls\nfalse"}
    assert result["tool_use_id"] == use["id"] == "srvtoolu_9"
    assert (result["content"]["stdout"], result["content"]["return_code"]) == ("a\n", 2)
    assert message["container"]["id"] == "cntr_1"


def test_citations_follow_the_text_that_they_are_of() -> None:
    annotation = {
        "type": "url_citation",
        "url": "https://a.example/",
        "title": "A",
        "start_index": 14,
        "end_index": 20,
    }
    [block] = content(stated("It rains. It is wet [1]. And cold.", annotations=[annotation]))
    [citation] = block["citations"]
    assert citation["url"] == "https://a.example/"
    assert citation["cited_text"] == "It is wet [1]."
    assert citation["encrypted_index"]


def test_deltas_are_padded_with_spaces() -> None:
    delta = events.ResponseTextDeltaEvent(
        output_index=0, item_id="msg_1", content_index=0, delta="b", obfuscation="abcd"
    )
    batch, _ = played([stated("a")])
    one = encoder()
    one.encode(batch[:5])
    assert one.encode([delta]).endswith(b'"text":"b"}    }\n\n')


def test_what_betas_add_is_in_the_stream_and_in_the_message() -> None:
    dropped = [
        {
            "type": "thinking_dropped",
            "path": "messages.1.content.0",
            "reason": "organization_binding_mismatch",
        }
    ]
    view = MessagesView(edits=ContextEdits(), dropped=dropped)
    batch, response = played([stated("a")])
    response.input_transformations = [
        {
            "type": "reasoning",
            "id": "rs_3_2_0123456789abcdef",
            "action": "removed",
            "reason": "model_mismatch",
        }
    ]
    written = fold(encoded(batch, view))
    assert written["context_management"] == {"applied_edits": []}
    assert [one["path"] for one in written["input_transformations"]] == [
        "messages.1.content.0",
        "messages.3.content.2",
    ]
    assert written == message_of(response, Blocks(view=view), "claude-x")


def test_a_response_of_nothing_is_a_message_of_nothing() -> None:
    response = Response(id="resp_1", created_at=1, model="m", status="completed")
    assert message_of(response, Blocks(), "m")["content"] == []


def test_a_request_that_fills_the_cache_ends_at_its_limit() -> None:
    batch, response = played([], usage=Usage(input_tokens=5))
    view = MessagesView(is_warming=True)
    written = fold(encoded(batch, view))
    assert (written["content"], written["stop_reason"], written["usage"]["output_tokens"]) == (
        [],
        "max_tokens",
        0,
    )
    assert written == message_of(response, Blocks(view=view), "claude-x")


def test_a_count_is_a_number() -> None:
    """billion-context#72."""
    assert token_count(7, MessagesView()) == {"input_tokens": 7}
    edits = ContextEdits(applied=[{"cleared_input_tokens": 3}])
    assert token_count(7, MessagesView(edits=edits)) == {
        "input_tokens": 7,
        "context_management": {"original_input_tokens": 10},
    }


def test_pieces_of_one_character_lose_nothing() -> None:
    text = 'Ä "quoted"\n\ttext 😀'
    assert content(stated(text), pieces=list)[0]["text"] == text
    assert words(text) != [text]
