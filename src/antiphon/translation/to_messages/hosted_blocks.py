"""Calls of tools that this server ran, as two blocks each: the call, and its result.

`translation/from_messages/hosted.py` reads them back. The first result of a web search has the
sealed state of the call in its `encrypted_content`; the results of other calls show what the model
read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from antiphon.protocol.items.calls import (
    ShellCall,
    ShellCallOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from antiphon.protocol.items.hosted import CodeInterpreterCall, McpCall, McpListTools, WebSearchCall
from antiphon.protocol.tools import NamespaceTool
from antiphon.translation.tool_items import read_object

Block = dict[str, Any]

SEARCHED = "web_search"
FETCHED = "web_fetch"


def block_id(prefix: str, item_id: object) -> str:
    """Return the id of a block for an item's id, `ws_123`: `srvtoolu_123`."""
    text = str(item_id)
    return f"{prefix}_{text.partition('_')[2] or text}"


def server_id(item: Any) -> str:
    """Return the id of the block of a call that this server ran.

    A shell's output has the id of its call.
    """
    return block_id(
        "srvtoolu", item.call_id if isinstance(item, ShellCall | ShellCallOutput) else item.id
    )


# The web.


def web_tool(item: WebSearchCall) -> str:
    """Return which of the two tools made the call."""
    return FETCHED if (item.action or {}).get("type") in ("open_page", "find_in_page") else SEARCHED


def web_use(item: WebSearchCall) -> Block:
    """Return the call of a web search, or of a page that was opened."""
    action = item.action or {}
    if web_tool(item) == SEARCHED:
        queries = action.get("queries") or [""]
        tool_input = {"query": str(action.get("query") or queries[0])}
    else:
        tool_input = {
            name: str(action.get(name) or "")
            for name in ("url", "pattern")
            if name in action or name == "url"
        }
    return {
        "type": "server_tool_use",
        "id": server_id(item),
        "name": web_tool(item),
        "input": tool_input,
    }


def web_result(item: WebSearchCall, seal: str, result_text: str) -> Block:
    """Return the pages that a search found, or the page that was opened, as far as the model read
    it.
    """
    tool = web_tool(item)
    use_id = server_id(item)
    content: Any
    if item.status in ("failed", "incomplete"):
        code = "unavailable" if tool == SEARCHED else "url_not_accessible"
        content = {"type": f"{tool}_tool_result_error", "error_code": code}
    elif tool == SEARCHED:
        content = _found(item, use_id, seal)
    else:
        content = _page(item, result_text)
    return {"type": f"{tool}_tool_result", "tool_use_id": use_id, "content": content}


def _found(item: WebSearchCall, use_id: str, seal: str) -> list[Block]:
    action = item.action or {}
    pages = [
        one
        for one in [*(item.results or ()), *(action.get("sources") or ())]
        if isinstance(one, dict)
    ]
    titles: dict[str, str] = {}
    for page in pages:
        if url := page.get("url"):
            titles.setdefault(str(url), str(page.get("title") or ""))
    return [
        {
            "type": "web_search_result",
            "url": url,
            "title": title or url,
            "encrypted_content": (seal if place == 0 else "") or f"{use_id}.{place}",
            "page_age": None,
        }
        for place, (url, title) in enumerate(titles.items())
    ]


def _page(item: WebSearchCall, result_text: str) -> Block:
    results = [one for one in item.results or () if isinstance(one, dict)]
    first = results[0] if results else {}
    url = str((item.action or {}).get("url") or first.get("url") or "")
    source = {
        "type": "text",
        "media_type": "text/plain",
        "data": result_text or str(first.get("text") or ""),
    }
    document = {
        "type": "document",
        "source": source,
        "title": first.get("title"),
        "citations": None,
    }
    return {"type": "web_fetch_result", "url": url, "content": document, "retrieved_at": None}


# Code and commands.


def code_use(item: CodeInterpreterCall) -> Block:
    """Return Python code that was run."""
    code = item.code if isinstance(item.code, str) else ""
    return {
        "type": "server_tool_use",
        "id": server_id(item),
        "name": "code_execution",
        "input": {"code": code},
    }


def code_result(item: CodeInterpreterCall) -> Block:
    """Return what it printed."""
    outputs = item.outputs or []
    is_failed = item.status in ("failed", "incomplete")
    if is_failed and not outputs:
        content: Block = {"type": "code_execution_tool_result_error", "error_code": "unavailable"}
    else:
        content = {
            "type": "code_execution_result",
            "stdout": "".join(
                str(one.get("logs") or "") for one in outputs if one.get("type") == "logs"
            ),
            "stderr": "",
            "return_code": int(is_failed),
            "content": [
                {"type": "code_execution_output", "file_id": one["file_id"]}
                for one in outputs
                if one.get("file_id")
            ],
        }
    return {
        "type": "code_execution_tool_result",
        "tool_use_id": server_id(item),
        "content": content,
    }


def shell_use(item: ShellCall) -> Block:
    """Return command lines that were run."""
    tool_input = {"command": "\n".join(item.action.commands)}
    return {
        "type": "server_tool_use",
        "id": server_id(item),
        "name": "bash_code_execution",
        "input": tool_input,
    }


def shell_result(item: ShellCallOutput) -> Block:
    """Return what they printed; the exit code is that of the last one which failed."""
    codes = [_exit_code(one.outcome) for one in item.output]
    content: Block = {
        "type": "bash_code_execution_result",
        "stdout": "".join(one.stdout for one in item.output),
        "stderr": "".join(one.stderr for one in item.output),
        "return_code": next((code for code in reversed(codes) if code), 0),
        "content": [],
    }
    if not item.output:
        content = {"type": "bash_code_execution_tool_result_error", "error_code": "unavailable"}
    return {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": server_id(item),
        "content": content,
    }


def _exit_code(outcome: Mapping[str, Any]) -> int:
    code = outcome.get("exit_code")
    return code if isinstance(code, int) else int(outcome.get("type") == "timeout")


def container_of(output: Sequence[Any]) -> str:
    """Return the id of the container in which code ran last, empty if none did."""
    found = ""
    for item in output:
        if isinstance(item, CodeInterpreterCall):
            found = item.container_id or found
        elif isinstance(item, ShellCall) and isinstance(item.environment, dict):
            found = str(item.environment.get("container_id") or found)
    return found


# MCP servers and tool search.


def mcp_use(item: McpCall) -> Block:
    """Return a call of an MCP server's tool."""
    return {
        "type": "mcp_tool_use",
        "id": block_id("mcptoolu", item.id),
        "name": item.name,
        "server_name": item.server_label,
        "input": read_object(item.arguments or "{}") or {},
    }


def mcp_result(item: McpCall) -> Block:
    """Return its output, or the error."""
    is_error = bool(item.error) or item.status in ("failed", "incomplete")
    result_text = _error_text(item.error) if item.error else item.output
    text = result_text if isinstance(result_text, str) else ""
    return {
        "type": "mcp_tool_result",
        "tool_use_id": block_id("mcptoolu", item.id),
        "is_error": is_error,
        "content": [{"type": "text", "text": text}] if text else [],
    }


def _error_text(error: Any) -> str:
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return str(error["message"])
    return error if isinstance(error, str) else msgspec.json.encode(error).decode()


def mcp_listing(item: McpListTools) -> Block:
    """Return the tools of an MCP server."""
    tools = [
        {
            "name": tool.get("name"),
            "description": tool.get("description"),
            "input_schema": tool.get("input_schema"),
        }
        for tool in item.tools
    ]
    return {"type": "mcp_tool_listing", "mcp_server_name": item.server_label, "tools": tools}


def search_use(item: ToolSearchCall, name: str) -> Block:
    """Return a search for deferred tools, by the name of the client's tool search."""
    tool_input = (
        item.arguments if isinstance(item.arguments, dict) else {"query": str(item.arguments)}
    )
    return {"type": "server_tool_use", "id": server_id(item), "name": name, "input": tool_input}


def search_result(item: ToolSearchOutput, use_id: str) -> Block:
    """Return the tools that it found."""
    names = [
        str(getattr(one, "name", ""))
        for tool in item.tools
        for one in (tool.tools if isinstance(tool, NamespaceTool) else [tool])
    ]
    references = [{"type": "tool_reference", "tool_name": name} for name in names if name]
    content = {"type": "tool_search_tool_search_result", "tool_references": references}
    return {"type": "tool_search_tool_result", "tool_use_id": use_id, "content": content}
