"""The tools of a request: what each becomes, and which of them the model is offered."""

from typing import Any

import msgspec

from tests.support.cases import each
from tests.support.messages_requests import (
    SCHEMA,
    assistant,
    read,
    refused,
    result,
    system,
    text,
    tool,
    tools,
    use,
    user,
)

SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one.get("name") or one["type"] for one in found]


def reference(name: str) -> dict[str, Any]:
    return {"type": "tool_reference", "tool_name": name}


# A client's own tools.


def test_a_tool_is_a_function() -> None:
    assert tools(tool(description="It does.", cache_control={"type": "ephemeral"})) == [
        {"type": "function", "name": "f", "description": "It does.", "parameters": SCHEMA}
    ]
    assert names(tools(tool(type="custom"))) == ["f"]


def test_a_strict_schema_stays_strict_only_if_the_other_api_accepts_it() -> None:
    closed = {**SCHEMA, "required": ["a"], "additionalProperties": False}
    assert tools(tool(input_schema=closed, strict=True))[0]["strict"] is True
    assert "strict" not in tools(tool(strict=True))[0]


def test_examples_are_part_of_the_description() -> None:
    assert '[{"a":"x"}]' in tools(tool(input_examples=[{"a": "x"}]))[0]["description"]


@each(
    "wrong, param",
    [
        ({"input_schema": SCHEMA}, "tools.1.name"),
        ({"name": "f"}, "tools.1.input_schema"),
        (tool("no spaces please"), "tools.1.name"),
        (tool(input_schema={"type": "string"}), "tools.1.input_schema"),
        (tool(allowed_callers=["code_execution_20250825"]), "tools.1.allowed_callers"),
        ({"type": "computer_20250124", "name": "computer"}, "tools.1.type"),
        ({"type": "browser_toolset_20260801"}, "tools.1.type"),
        ({"type": "advisor_20260301", "name": "advisor"}, "tools.1.type"),
        ({"type": "function", "name": "f"}, "tools.1.type"),
        ({"type": "mcp_toolset"}, "tools.1.mcp_server_name"),
        ({"type": "mcp_toolset", "mcp_server_name": "wiki"}, "tools.1.mcp_server_name"),
        (
            {
                "type": "web_search_20250305",
                "allowed_domains": ["a.example"],
                "blocked_domains": ["b.example"],
            },
            "tools.1",
        ),
    ],
)
def test_what_cannot_cross_is_rejected_by_name(wrong: dict[str, Any], param: str) -> None:
    error = refused(tools=[tool("first"), wrong])
    assert error.param == param
    assert error.message.startswith(f"{param}: ")


# Tools of Anthropic.


@each(
    "kind, name, required",
    [
        ("bash_20250124", "bash", []),
        ("bash_20241022", "bash", []),
        ("bash_20991231", "bash", []),
        ("text_editor_20241022", "str_replace_editor", ["command", "path"]),
        ("text_editor_20250124", "str_replace_editor", ["command", "path"]),
        ("text_editor_20250728", "str_replace_based_edit_tool", ["command", "path"]),
        ("memory_20250818", "memory", ["command"]),
    ],
)
def test_client_tools_of_anthropic_get_a_schema(kind: str, name: str, required: list[str]) -> None:
    [found] = tools({"type": kind, "name": name})
    assert (found["type"], found["name"]) == ("function", name)
    assert found["parameters"]["required"] == required


def test_the_web_is_one_tool() -> None:
    """CLIProxyAPI#364, claude-code-router#811: `web_search_20250305` was refused."""
    where = {"type": "approximate", "city": "Oslo"}
    search = {
        "type": "web_search_20250305",
        "name": "web_search",
        "allowed_domains": ["a.example"],
        "max_uses": 3,
    }
    fetch = {"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 2}
    assert tools({**search, "user_location": where}, fetch) == [
        {
            "type": "web_search",
            "filters": {"allowed_domains": ["a.example"]},
            "user_location": where,
        }
    ]
    assert read(tools=[search, fetch]).request.max_tool_calls == 5
    assert read(tools=[search, {"type": "web_fetch_20250910"}]).request.max_tool_calls is None
    assert names(tools({"type": "web_search_20991231"}, {"type": "web_search"})) == ["web_search"]


def test_code_runs_in_python_or_in_a_shell_by_its_date() -> None:
    upload = {"type": "container_upload", "file_id": "file-1"}
    python = {"type": "code_execution_20250522"}
    shell = {"type": "code_execution_20260120"}
    assert tools(python) == [{"type": "code_interpreter", "container": {"type": "auto"}}]
    assert tools(shell) == [{"type": "shell", "environment": {"type": "container_auto"}}]
    assert tools(python, container="cntr_1")[0]["container"] == "cntr_1"
    assert tools(shell, container={"id": "cntr_1"})[0]["environment"]["container_id"] == "cntr_1"
    with_file: dict[str, Any] = {"messages": [user(upload, text("see"))]}
    assert tools(shell, **with_file)[0]["environment"]["file_ids"] == ["file-1"]
    assert tools(python, **with_file)[0]["container"]["file_ids"] == ["file-1"]
    assert refused(user(upload)).param == "messages.0.content.0"
    assert (
        refused(container={"skills": [{"type": "anthropic", "skill_id": "xlsx"}]}).param
        == "container.skills"
    )


# MCP servers.

WIKI = {
    "type": "url",
    "name": "wiki",
    "url": "https://wiki.example/mcp",
    "authorization_token": "secret",
}
TOOLSET = {"type": "mcp_toolset", "mcp_server_name": "wiki"}


def test_a_server_with_its_toolset_is_offered_without_approvals() -> None:
    [found] = tools(TOOLSET, mcp_servers=[WIKI])
    assert found == {
        "type": "mcp",
        "server_label": "wiki",
        "server_url": "https://wiki.example/mcp",
        "authorization": "secret",
        "require_approval": "never",
    }


def test_only_enabled_tools_of_a_server_are_offered() -> None:
    some = {
        **TOOLSET,
        "default_config": {"enabled": False},
        "configs": {"ask": {"enabled": True}, "tell": {}},
    }
    assert tools(some, mcp_servers=[WIKI])[0]["allowed_tools"] == ["ask"]
    older = {**WIKI, "tool_configuration": {"enabled": True, "allowed_tools": ["ask"]}}
    assert tools(mcp_servers=[older])[0]["allowed_tools"] == ["ask"]
    off = {**WIKI, "tool_configuration": {"enabled": False}}
    assert tools(mcp_servers=[off])[0]["allowed_tools"] == []
    without = {**TOOLSET, "configs": {"ask": {"enabled": False}}}
    assert refused(tools=[without], mcp_servers=[WIKI]).param == "tools.0.configs.ask.enabled"


def test_a_server_with_an_invalid_address_is_rejected() -> None:
    assert (
        refused(tools=[TOOLSET], mcp_servers=[{**WIKI, "url": "file:///etc"}]).param
        == "tools.0.mcp_server_name"
    )


# Deferred tools.


def test_a_deferred_tool_is_offered_once_it_is_loaded_and_after_all_others() -> None:
    provided = [tool("a", defer_loading=True), tool("b"), tool("c", defer_loading=True), tool("d")]
    assert names(tools(*provided)) == ["b", "d"]
    turns = [
        user("x"),
        assistant(use("t", "b")),
        user(result("t", [reference("c")]), text("Tool loaded.")),
    ]
    assert names(tools(*provided, messages=turns)) == ["b", "d", "c"]
    turns = [*turns, assistant(use("u", "b")), user(result("u", [reference("a")]))]
    assert names(tools(*provided, messages=turns)) == ["b", "d", "c", "a"]
    assert "defer_loading" not in tools(*provided, messages=turns)[-1]


def test_the_placeholder_is_never_offered() -> None:
    placeholder = tool("DeferredToolPlaceholder", defer_loading=True)
    assert names(tools(tool("a"), placeholder)) == ["a"]
    assert names(tools(tool("a"), placeholder, SEARCH)) == ["a", "tool_search"]


def test_the_server_searches_deferred_tools() -> None:
    found = tools(tool("a", defer_loading=True), tool("b"), SEARCH)
    assert names(found) == ["b", "tool_search", "a"]
    assert found[-1]["defer_loading"] is True
    assert read(tools=[SEARCH]).view.search_tool == "tool_search_tool_bm25"


def test_a_reference_to_an_unknown_tool_is_rejected() -> None:
    error = refused(
        user("x"), assistant(use("t", "b")), user(result("t", [reference("zz")])), tools=[tool("b")]
    )
    assert error.param == "messages.2.content.0.content.0.tool_name"
    assert error.code == "tool_reference_unresolved"


def test_a_reference_to_a_tool_that_is_not_deferred_changes_nothing() -> None:
    turns = [user("x"), assistant(use("t", "b")), user(result("t", [reference("b")]))]
    assert names(tools(tool("b"), messages=turns)) == ["b"]
    assert read(*turns, tools=[tool("b")]).request.input[-1].output == "Loaded tools: b"  # type: ignore[union-attr,index]


def test_system_messages_add_and_remove_tools() -> None:
    definition = {"type": "tool_definition", "definition": tool("new")}
    load = {"type": "tool_reference", "name": "a"}

    def change(kind: str, what: dict[str, Any]) -> dict[str, Any]:
        return system({"type": kind, "tool": what})

    provided = [tool("a", defer_loading=True), tool("b")]
    assert names(tools(*provided, messages=[user("x"), change("tool_addition", load)])) == [
        "b",
        "a",
    ]
    assert names(tools(*provided, messages=[user("x"), change("tool_addition", definition)])) == [
        "b",
        "new",
    ]
    drop = {"type": "tool_reference", "name": "b"}
    assert names(tools(*provided, messages=[user("x"), change("tool_removal", drop)])) == []
    back = [user("x"), change("tool_removal", drop), user("y"), change("tool_addition", drop)]
    assert names(tools(*provided, messages=back)) == ["b"]
    wrong = refused(user("x"), change("tool_addition", {"type": "nothing"}))
    assert wrong.param == "messages.1.content.0.tool.type"
    broken = {"type": "tool_definition", "definition": {"name": "x"}}
    wrong = refused(user("x"), change("tool_addition", broken))
    assert wrong.param == "messages.1.content.0.tool.definition.input_schema"


# The choice among tools.


@each(
    "choice, expected",
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "b"}, {"type": "function", "name": "b"}),
        ({"type": "tool", "name": "a"}, {"type": "function", "name": "a"}),
        ({"type": "tool", "name": "web_search"}, {"type": "web_search"}),
        ({"type": "tool", "name": "code_execution"}, {"type": "shell"}),
    ],
)
def test_a_choice_crosses(choice: dict[str, Any], expected: Any) -> None:
    provided = [
        tool("a", defer_loading=True),
        tool("b"),
        {"type": "web_search_20250305"},
        {"type": "code_execution_20250825"},
    ]
    request = read(tools=provided, tool_choice=choice).request
    assert msgspec.to_builtins(request.tool_choice) == expected
    if choice.get("name") == "a":
        assert names(msgspec.to_builtins(request.tools))[-1] == "a"


def test_parallel_calls_can_be_disabled() -> None:
    """any-llm#1311."""
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    assert read(tools=[tool()], tool_choice=choice).request.parallel_tool_calls is False
    assert read(tools=[tool()], tool_choice={"type": "auto"}).request.parallel_tool_calls is None


def test_a_choice_of_no_tool_is_rejected() -> None:
    assert refused(tool_choice={"type": "any"}).param == "tool_choice"
    assert (
        refused(tools=[tool()], tool_choice={"type": "tool", "name": "zz"}).param
        == "tool_choice.name"
    )
