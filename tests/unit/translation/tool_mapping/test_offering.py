"""What a chat model is offered of the tools in force, and under which names."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.protocol.items.hosted import WebSearchCall
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.hosted import Approvals, rendered_call
from antiphon.translation.to_chat_completions.messages import to_messages
from antiphon.translation.to_chat_completions.reasoning import nothing
from antiphon.translation.to_chat_completions.request import to_chat
from antiphon.translation.tool_mapping.offering import Toolbox, toolbox_of

GENERIC = DIALECTS["generic"]


def request(*tools: dict[str, Any], input: Any = "x", **more: Any) -> CreateResponse:
    return decode_request(
        json.dumps({"model": "m", "input": input, "tools": tools, **more}).encode()
    )


def toolbox(*tools: dict[str, Any], input: Any = "x", dialect: Dialect = GENERIC) -> Toolbox:
    requested = request(*tools, input=input)
    return toolbox_of(
        requested, requested.input if isinstance(requested.input, list) else [], dialect
    )


def function(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, **more}


def namespace(name: str, *tools: dict[str, Any], description: str = "") -> dict[str, Any]:
    return {"type": "namespace", "name": name, "description": description, "tools": tools}


def names(*tools: dict[str, Any], **more: Any) -> list[str]:
    return list(toolbox(*tools, **more).offers)


def test_a_namespaces_tools_are_named_after_it() -> None:
    assert names(function("look"), namespace("mcp__t", function("ping"))) == [
        "look",
        "mcp__t__ping",
    ]


def test_a_name_that_is_taken_is_marked_and_the_one_without_a_namespace_keeps_its_own() -> None:
    first, second = names(namespace("a", function("b")), function("a__b"))

    assert second == "a__b"
    assert first.startswith("a__b_") and first != second


@pytest.mark.parametrize("name", ["x" * 100, "mcp server/ü"])
def test_an_unsupported_name_is_adapted(name: str) -> None:
    (fitted,) = names(namespace(name, function("ping")))

    assert len(fitted) <= 64 and fitted.isascii()
    assert fitted == names(function("other"), namespace(name, function("ping")))[1]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "a_", "a__b", "x" * 70]),
            st.sampled_from(["b", "_b", "b__c", "y" * 70]),
        ),
        unique=True,
    )
)
def test_no_two_tools_have_one_name_and_all_are_found_again(pairs: list[tuple[str, str]]) -> None:
    spaces: dict[str, list[dict[str, Any]]] = {}
    for space, name in pairs:
        spaces.setdefault(space, []).append(function(name))
    created = toolbox(*(namespace(space, *tools) for space, tools in spaces.items()))

    assert len(created.offers) == len(pairs)
    assert all(len(name) <= 64 for name in created.offers)
    for space, name in pairs:
        offer = created.offers[created.name_of("function", space, name)]
        assert (offer.namespace, offer.name) == (space, name)


def test_a_namespace_is_described_once() -> None:
    created = toolbox(
        namespace(
            "n",
            function("a", description="A."),
            function("b", description="B."),
            description="All.",
        )
    )

    assert [offer.description for offer in created.offers.values()] == ["[n: All.]\nA.", "B."]


def test_tools_inside_the_input_are_in_force() -> None:
    provided = [
        {"type": "additional_tools", "role": "developer", "tools": [namespace("n", function("a"))]},
        {
            "type": "tool_search_output",
            "call_id": "c",
            "execution": "client",
            "tools": [function("b", defer_loading=True)],
        },
    ]

    assert names(function("c"), input=provided) == ["c", "n__a", "b"]


def test_of_two_with_one_name_the_later_counts() -> None:
    provided = [
        {
            "type": "additional_tools",
            "role": "developer",
            "tools": [function("a", description="New.")],
        }
    ]
    (offer,) = toolbox(function("a", description="Old."), input=provided).offers.values()

    assert offer.description == "New."


def test_a_deferred_tool_is_not_sent_but_mentioned() -> None:
    created = toolbox(
        {"type": "tool_search"}, function("later", description="For later.", defer_loading=True)
    )

    assert list(created.offers) == ["tool_search"]
    assert "later: For later." in (created.offers["tool_search"].description or "")


def test_without_anything_to_find_there_is_no_search() -> None:
    assert names({"type": "tool_search"}, function("now")) == ["now"]


def test_a_tool_for_programs_alone_is_left_out() -> None:
    created = toolbox(
        function("a", allowed_callers=["programmatic"]),
        function("b", allowed_callers=["direct", "programmatic"]),
    )

    assert (list(created.offers), created.left_out) == (["b"], ["function"])


def test_a_shell_in_a_container_is_left_out() -> None:
    created = toolbox({"type": "shell", "environment": {"type": "container_auto"}})

    assert (list(created.offers), created.left_out) == ([], ["shell"])


def grammar(syntax: str, definition: str) -> dict[str, Any]:
    return {
        "type": "custom",
        "name": "c",
        "format": {"type": "grammar", "syntax": syntax, "definition": definition},
    }


def test_a_grammar_is_sent_to_the_model_and_its_inputs_are_checked() -> None:
    (offer,) = toolbox(grammar("lark", 'start: "a"+')).offers.values()

    assert 'start: "a"+' in (offer.description or "")
    assert offer.misfit is not None
    assert offer.misfit("aaa") == ""
    assert offer.misfit("ab").endswith(" at line 1, column 2.")
    assert offer.misfit("") == "It ends before the grammar does."


@pytest.mark.parametrize(
    ("dialect", "pattern"),
    [("llamacpp", "^(a+)$"), ("vllm", "^(a+)$"), ("sglang", "^(a+)$"), ("groq", None)],
)
def test_a_regular_expression_is_handed_to_backends_that_hold_the_model_to_it(
    dialect: str, pattern: str | None
) -> None:
    (offer,) = toolbox(grammar("regex", "a+"), dialect=DIALECTS[dialect]).offers.values()

    assert offer.parameters["properties"]["input"].get("pattern") == pattern


TOOLS = [
    function("f"),
    {"type": "custom", "name": "c"},
    {"type": "shell"},
    {"type": "apply_patch"},
    {"type": "computer"},
    namespace("n", function("g")),
]


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ({"type": "function", "name": "f"}, "f"),
        ({"type": "function", "name": "g"}, "n__g"),
        ({"type": "custom", "name": "c"}, "c"),
        ({"type": "shell"}, "shell"),
        ({"type": "apply_patch"}, "apply_patch"),
        ({"type": "computer"}, "computer"),
        ({"type": "computer_use_preview"}, "computer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("dialect", ["openai", "ollama"])
def test_a_tool_choice_is_sent_in_the_form_of_the_dialect(
    choice: dict[str, Any], name: str, dialect: str
) -> None:
    body = to_chat(request(*TOOLS, tool_choice=choice), [], DIALECTS[dialect])
    sent = [tool["function"]["name"] for tool in body["tools"]]

    if dialect == "openai":
        assert body["tool_choice"] == {"type": "function", "function": {"name": name}}
        assert len(sent) == len(TOOLS)
    else:
        assert (body["tool_choice"], sent) == ("required", [name])


def test_allowed_tools_may_name_a_namespace_and_what_is_left_out() -> None:
    allowed = [
        {"type": "namespace", "name": "n"},
        {"type": "web_search"},
        {"type": "custom", "name": "c"},
    ]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": allowed}
    body = to_chat(request(*TOOLS, {"type": "web_search"}, tool_choice=choice), [], GENERIC)

    assert [tool["function"]["name"] for tool in body["tools"]] == ["c", "n__g"]


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "web_search_preview"},
        {"type": "mcp", "server_label": "s"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]},
    ],
    ids=["required", "web search", "mcp", "allowed"],
)
def test_a_choice_that_demands_what_is_left_out_is_refused(choice: Any) -> None:
    with pytest.raises(ClientError) as caught:
        to_chat(request({"type": "web_search"}, tool_choice=choice), [], GENERIC)

    assert (caught.value.code, caught.value.param) == ("unsupported_value", "tool_choice")


LOOP: list[tuple[dict[str, Any], dict[str, Any], str, str, Any]] = [
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "c", "input": 'say "x"'},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        "c",
        '{"input":"say \\"x\\""}',
        "ok",
    ),
    (
        {"type": "function_call", "call_id": "c", "name": "g", "namespace": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
        "n__g",
        "{}",
        "ok",
    ),
    (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"], "timeout_ms": None}},
        {
            "type": "shell_call_output",
            "call_id": "c",
            "output": [
                {"stdout": "a\n", "stderr": "b\n", "outcome": {"type": "exit", "exit_code": 1}},
                {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
            ],
        },
        "shell",
        '{"commands":["ls"]}',
        "a\nb\n[exit code 1]\n[timed out]",
    ),
    (
        {
            "type": "local_shell_call",
            "call_id": "c",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        },
        {"type": "local_shell_call_output", "id": "c", "output": "ok"},
        "local_shell",
        '{"command":["ls"],"env":{}}',
        "ok",
    ),
    (
        {
            "type": "apply_patch_call",
            "call_id": "c",
            "operation": {"type": "delete_file", "path": "a"},
        },
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed"},
        "apply_patch",
        '{"type":"delete_file","path":"a"}',
        "The patch is failed.",
    ),
    (
        {
            "type": "tool_search_call",
            "call_id": "c",
            "execution": "client",
            "arguments": {"query": "q"},
        },
        {
            "type": "tool_search_output",
            "call_id": "c",
            "execution": "client",
            "tools": [function("h")],
        },
        "tool_search",
        '{"query":"q"}',
        "Found, and callable from now on: h.",
    ),
]


@pytest.mark.parametrize(
    ("call", "output", "name", "arguments", "stated"),
    LOOP,
    ids=lambda value: value.get("type") if isinstance(value, dict) else "",
)
def test_a_call_and_its_output_go_back_to_the_model(
    call: dict[str, Any], output: dict[str, Any], name: str, arguments: str, stated: str
) -> None:
    requested = request(*TOOLS, input=[call, output])
    assert isinstance(requested.input, list)
    messages = to_messages(
        requested.input, None, GENERIC, toolbox=toolbox_of(requested, requested.input, GENERIC)
    )

    assert messages == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": stated},
    ]


def test_a_screenshot_moves_into_a_users_message() -> None:
    requested = request(
        {"type": "computer"},
        input=[
            {"type": "computer_call", "call_id": "c", "actions": [{"type": "screenshot"}]},
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {
                    "type": "computer_screenshot",
                    "image_url": "data:image/png;base64,iVBORw0KGgo=",
                },
            },
        ],
    )
    assert isinstance(requested.input, list)
    _, tool, user = to_messages(requested.input, None, GENERIC)

    assert tool["role"] == "tool" and "see the next user message" in tool["content"]
    assert user["content"][-1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="},
    }


def test_a_late_output_is_emitted_on_arrival() -> None:
    call = {
        "type": "function_call",
        "call_id": "c",
        "name": "slow",
        "arguments": "{}",
        "async": True,
    }
    waiting = request(input=[call, {"role": "user", "content": "Well?"}])
    late = request(
        input=[
            call,
            {"role": "user", "content": "Well?"},
            {"type": "function_call_output", "name": "slow", "output": "7"},
        ]
    )
    assert isinstance(waiting.input, list) and isinstance(late.input, list)

    assert "not there yet" in to_messages(waiting.input, None, GENERIC)[1]["content"]
    assert to_messages(late.input, None, GENERIC)[-1] == {
        "role": "user",
        "content": "[Output of slow]\n7",
    }


def test_a_compaction_stands_for_what_came_before_but_for_users_and_systems() -> None:
    requested = request(
        input=[
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "x"},
            {"type": "compaction", "encrypted_content": "blob"},
            {"role": "user", "content": "More"},
        ]
    )
    assert isinstance(requested.input, list)
    content = [
        m["content"]
        for m in to_messages(
            requested.input, None, GENERIC, unseal=lambda blob: {"summary": f"of {blob}"}
        )
    ]

    assert (content[:2], content[3]) == (["Be kind.", "Hello"], "More")
    assert "of blob" in content[2]


def test_settings_inside_the_input_count_if_the_request_has_none() -> None:
    update = {
        "type": "configuration_update",
        "reasoning": {"effort": "high"},
        "text": {"format": {"type": "json_object"}},
    }
    provided = [update, {"role": "user", "content": "x"}]
    mine = request(input=provided)
    theirs = request(input=provided, reasoning={"effort": "low"})
    assert isinstance(mine.input, list)

    body = to_chat(mine, mine.input, GENERIC)
    assert (body["reasoning_effort"], body["response_format"]) == ("high", {"type": "json_object"})
    assert to_chat(theirs, mine.input, GENERIC)["reasoning_effort"] == "low"


@pytest.mark.parametrize("sources", [5, "abc", {"a": 1}, None])
def test_a_web_search_with_invalid_sources_is_reported_without_them(sources: Any) -> None:
    item = {
        "type": "web_search_call",
        "id": "ws_1",
        "action": {"type": "search", "query": "x", "sources": sources},
    }
    reported = rendered_call(msgspec.convert(item, WebSearchCall), nothing, Approvals())
    output = reported and reported.output

    assert output is not None and output.output == "Done."
