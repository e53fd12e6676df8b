"""What tools of a server did, as the items of a response: of this server, and of another one."""

from typing import Any

from antiphon.access.keyring import VERSION
from antiphon.protocol.items.calls import (
    ShellAction,
    ShellCall,
    ShellCallOutput,
    ShellOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from antiphon.protocol.items.hosted import CodeInterpreterCall, McpCall, WebSearchCall
from antiphon.protocol.tools import FunctionTool
from antiphon.translation.from_messages.hosted import SEAL
from antiphon.translation.from_messages.view import MessagesView
from antiphon.translation.to_messages.blocks import Blocks
from tests.support.messages_requests import assistant, items, read, text, tool, user


def running(
    name: str, requested: Any, kind: str, content: Any, **fields: Any
) -> list[dict[str, Any]]:
    """The items of a call with this result."""
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": requested}
    result = {"type": kind, "tool_use_id": "srvtoolu_1", "content": content}
    return items(user("a"), assistant(call, result, text("b")), user("c"), **fields)[1:-2]


def test_sealed_state_is_recognised_by_the_version_of_the_keyring() -> None:
    assert f"{VERSION}." == SEAL


def test_a_search_of_another_server_keeps_its_pages() -> None:
    page = {
        "type": "web_search_result",
        "url": "https://a.example/",
        "title": "A",
        "encrypted_content": "EosaC",
    }
    [item] = running("web_search", {"query": "q"}, "web_search_tool_result", [page])
    assert (item["type"], item["id"], item["action"]["query"]) == ("web_search_call", "ws_1", "q")
    assert item["results"] == [{"type": "text", "url": "https://a.example/", "title": "A"}]
    assert "encrypted_content" not in item


def test_a_search_of_this_server_keeps_its_sealed_state() -> None:
    item = WebSearchCall(
        id="ws_0a1",
        status="completed",
        action={"type": "search", "query": "q", "queries": ["q"]},
        results=[{"type": "text", "url": "https://a.example/", "title": "A", "text": "…"}],
        encrypted_content="ar1.k.s",
    )
    blocks = Blocks(view=MessagesView()).of(item)
    found = read(user("a"), assistant(*blocks), user("c")).request.input
    assert isinstance(found, list)
    read_back = found[1]
    assert isinstance(read_back, WebSearchCall)
    assert (read_back.id, read_back.encrypted_content) == (item.id, item.encrypted_content)
    assert Blocks(view=MessagesView()).of(read_back) == blocks


ITEMS: list[Any] = [
    WebSearchCall(
        id="ws_2", status="completed", action={"type": "open_page", "url": "https://a.example/"}
    ),
    WebSearchCall(
        id="ws_3", status="failed", action={"type": "search", "query": "q", "queries": ["q"]}
    ),
    CodeInterpreterCall(
        id="ci_5",
        status="completed",
        container_id="",
        code="1",
        outputs=[{"type": "logs", "logs": "1\n"}],
    ),
    ShellCall(id="sh_1", call_id="srvtoolu_4", action=ShellAction(commands=["ls"])),
    ShellCallOutput(
        id="sho_1",
        call_id="srvtoolu_4",
        output=[ShellOutput(stdout="a", stderr="b", outcome={"type": "exit", "exit_code": 3})],
    ),
    McpCall(
        id="mcp_1",
        status="completed",
        arguments='{"q":1}',
        name="ask",
        server_label="wiki",
        output="a",
    ),
    McpCall(
        id="mcp_2", status="failed", arguments="{}", name="ask", server_label="wiki", error="b"
    ),
    ToolSearchCall(id="tsc_6", call_id=None, execution="server", arguments={"query": "q"}),
    ToolSearchOutput(
        id="tso_6",
        call_id=None,
        execution="server",
        tools=[FunctionTool(name="f", parameters={"type": "object"})],
    ),
]


def test_what_this_server_wrote_is_read_back_as_it_was() -> None:
    """Nothing is stored here: what the client returns is all that is known of earlier turns."""
    blocks = Blocks(unseal=lambda blob: {"said": "It is."})
    written = [block for item in ITEMS for block in blocks.of(item)]
    provided = [tool("f", defer_loading=True)]
    found = read(user("a"), assistant(*written), user("b"), tools=provided).request.input
    assert isinstance(found, list)
    again = Blocks(unseal=lambda blob: {"said": "It is."})
    assert [block for item in found[1:-1] for block in again.of(item)] == written


def test_a_failed_search_is_a_failed_call() -> None:
    content = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    [item] = running("web_search", {"query": "q"}, "web_search_tool_result", content)
    assert item["status"] == "failed"
    assert "max_uses_exceeded" in item["results"][0]["text"]


def test_a_page_keeps_its_text() -> None:
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "It is."},
    }
    content = {"type": "web_fetch_result", "url": "https://a.example/", "content": document}
    [item] = running("web_fetch", {"url": "https://a.example/"}, "web_fetch_tool_result", content)
    assert item["action"] == {"type": "open_page", "url": "https://a.example/"}
    assert item["results"][0]["text"] == "It is."


def test_code_and_commands_keep_their_output() -> None:
    printed = {
        "type": "code_execution_result",
        "stdout": "1\n",
        "stderr": "",
        "return_code": 0,
        "content": [],
    }
    [item] = running("code_execution", {"code": "print(1)"}, "code_execution_tool_result", printed)
    assert (item["type"], item["code"], item["outputs"][0]["logs"]) == (
        "code_interpreter_call",
        "print(1)",
        "1\n",
    )
    printed = {**printed, "type": "bash_code_execution_result", "return_code": 2}
    call, output = running(
        "bash_code_execution", {"command": "ls"}, "bash_code_execution_tool_result", printed
    )
    assert call["action"]["commands"] == ["ls"]
    assert output["output"][0]["outcome"] == {"type": "exit", "exit_code": 2}
    assert call["call_id"] == output["call_id"]


def test_a_tool_that_this_server_does_not_have_is_a_call_that_was_answered() -> None:
    call, output = running(
        "advisor", {}, "advisor_tool_result", {"type": "advisor_result", "text": "Wait."}
    )
    assert (call["type"], call["name"]) == ("function_call", "advisor")
    assert "Wait." in output["output"]
    assert call["call_id"] == output["call_id"]


def test_a_tool_search_has_the_tools_that_it_found() -> None:
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "f"}],
    }
    search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    fields: dict[str, Any] = {
        "tools": [tool("f", defer_loading=True), tool("g", defer_loading=True), search]
    }
    call, output = running(
        "tool_search_tool_regex", {"query": "q"}, "tool_search_tool_result", found, **fields
    )
    assert (call["type"], call["execution"]) == ("tool_search_call", "server")
    assert [one["name"] for one in output["tools"]] == ["f"]


def test_a_call_of_an_mcp_server_has_its_output_or_its_error() -> None:
    call = {
        "type": "mcp_tool_use",
        "id": "mcptoolu_1",
        "name": "ask",
        "server_name": "wiki",
        "input": {"q": 1},
    }
    content = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    result = {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_1",
        "is_error": False,
        "content": content,
    }
    item = items(user("a"), assistant(call, result), user("c"))[1]
    assert (item["type"], item["server_label"], item["arguments"]) == (
        "mcp_call",
        "wiki",
        '{"q":1}',
    )
    assert item["output"] == "a\nb"
    item = items(user("a"), assistant(call, {**result, "is_error": True}), user("c"))[1]
    assert (item["status"], item["error"]) == ("failed", "a\nb")


def test_a_list_of_tools_of_an_mcp_server_stays_in_the_history() -> None:
    listing = {
        "type": "mcp_tool_listing",
        "mcp_server_name": "wiki",
        "tools": [{"name": "ask", "input_schema": {}}],
    }
    item = items(user("a"), assistant(listing, text("b")), user("c"))[1]
    assert (item["type"], item["server_label"], item["tools"][0]["name"]) == (
        "mcp_list_tools",
        "wiki",
        "ask",
    )


def test_a_call_without_a_result_and_a_result_without_a_call_are_dropped() -> None:
    call = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "q"},
    }
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2", "content": []}
    assert [
        one["type"] for one in items(user("a"), assistant(call, result, text("b")), user("c"))
    ] == ["message"] * 3


def test_whatever_another_server_wrote_is_read() -> None:
    for content in (None, "text", [], [1], {}, {"type": "x", "tool_references": 1}, [{"url": 1}]):
        for kind in (
            "web_search",
            "web_fetch",
            "code_execution",
            "bash_code_execution",
            "tool_search",
            "advisor",
        ):
            assert running(kind, "no object", f"{kind}_tool_result", content)
