"""The headers of a request of the Messages API, and how places and reasons of the run appear in its
words.
"""

from antiphon.translation.from_messages.view import Call, MessagesView, read_call
from tests.support.cases import each


def test_headers_are_read_and_none_is_needed() -> None:
    assert read_call([]) == Call()
    call = read_call(
        [
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "context-management-2025-06-27, effort-2025-11-24"),
            ("anthropic-beta", "unknown-2099-01-01,"),
            ("x-claude-code-session-id", "s"),
            ("x-claude-code-agent-id", "a"),
            ("user-agent", "claude-cli"),
        ]
    )
    assert call.betas == {
        "context-management-2025-06-27",
        "effort-2025-11-24",
        "unknown-2099-01-01",
    }
    assert (call.version, call.session, call.agent) == ("2023-06-01", "s", "a")
    assert call.is_beta("context-management")
    assert not call.is_beta("context")


def test_an_unknown_version_is_the_newest() -> None:
    assert read_call([("anthropic-version", "2099-01-01")]) == Call()


@each(
    "param, place",
    [
        ("max_output_tokens", "max_tokens"),
        ("input", "messages"),
        ("input[0].content", "system"),
        ("input[1].content[0].image_url", "messages.2.content.1"),
        ("input[7]", "system"),
        ("tools[0].parameters.properties.a", "tools.4.input_schema.properties.a"),
        ("tools[1].server_url", "tools.5.mcp_server_name"),
        ("tools[2]", "messages"),
        ("text.format.schema", "output_config.format.schema"),
        ("temperature", "temperature"),
    ],
)
def test_a_parameter_is_named_as_in_the_request(param: str, place: str) -> None:
    view = MessagesView(places=[(-1, 0), (2, 1)], tool_places=[4, 5, -1])
    assert view.place(param) == place


def test_reasoning_that_the_run_removed_is_reported_by_its_block() -> None:
    removed = [
        {
            "type": "reasoning",
            "id": "rs_3_0_0123456789abcdef",
            "action": "removed",
            "reason": "model_mismatch",
        },
        {
            "type": "reasoning",
            "id": "rs_4_1_0123456789abcdef",
            "action": "removed",
            "reason": "turn_boundary",
        },
        {"type": "reasoning", "id": "rs_other", "action": "removed", "reason": "model_mismatch"},
    ]
    assert MessagesView().transformations(removed) == [
        {
            "type": "thinking_dropped",
            "path": "messages.3.content.0",
            "reason": "model_binding_mismatch",
        }
    ]
