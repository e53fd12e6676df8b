"""Calls of tools that a server ran, with their results, as the items of a response.

A call of this server becomes the item that it was, with the state that its result contains in
sealed form. A call of another server becomes the same item, with what the result shows, so that the
model reads it as a call that was made and answered.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from antiphon.protocol.items.calls import (
    ShellAction,
    ShellCall,
    ShellCallOutput,
    ShellOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from antiphon.protocol.items.hosted import CodeInterpreterCall, McpCall, McpListTools, WebSearchCall
from antiphon.protocol.items.messages import FunctionCall, FunctionCallOutput, InputItem
from antiphon.protocol.messages.blocks import (
    BashResult,
    CodeResult,
    McpToolListing,
    McpToolResultBlock,
    McpToolUseBlock,
    ServerToolResult,
    ServerToolUseBlock,
    ToolSearchResult,
    WebFetchResult,
    WebSearchResult,
)
from antiphon.translation.from_messages.catalogue import Catalogue
from antiphon.translation.from_messages.results import call_id_of

SEAL = "ar1."
"""How sealed state of this server begins (`access/keyring.py`)."""

Items = Sequence[InputItem]
Table = Mapping[str, Any]


def is_sealed(text: object) -> bool:
    """Whether a text can be sealed state of this server; only its key shows whether it is."""
    return isinstance(text, str) and text.startswith(SEAL)


def server_items(use: ServerToolUseBlock, result: ServerToolResult, catalogue: Catalogue) -> Items:
    """Return the items of a call that a server ran, and of its result."""
    read = _READERS.get(type(result), _other)
    return read(use, result, catalogue)


def item_id(prefix: str, block_id: str) -> str:
    """Return the id of an item for a block's: always the same, so that a prompt that is repeated
    does not change.
    """
    return f"{prefix}_{block_id.partition('_')[2] or block_id}"


def _web_search(use: ServerToolUseBlock, result: ServerToolResult, catalogue: Catalogue) -> Items:
    query = _text(_table(use.input).get("query"))
    content = result.content
    found = (
        [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    )
    item = WebSearchCall(
        id=item_id("ws", use.id),
        status="completed" if isinstance(content, list) else "failed",
        action={"type": "search", "query": query, "queries": [query]},
        results=[
            {"type": "text", "url": _text(one.get("url")), "title": _text(one.get("title"))}
            for one in found
        ],
    )
    blob = next(
        (one["encrypted_content"] for one in found if is_sealed(one.get("encrypted_content"))), None
    )
    if blob is not None:
        item.encrypted_content = blob
    if not isinstance(content, list):
        item.results = [
            {"type": "text", "text": f"Error: {_text(_table(content).get('error_code'))}"}
        ]
    return [item]


def _web_fetch(use: ServerToolUseBlock, result: ServerToolResult, catalogue: Catalogue) -> Items:
    content = _table(result.content)
    url = _text(content.get("url")) or _text(_table(use.input).get("url"))
    document = _table(content.get("content"))
    text = _text(_table(document.get("source")).get("data"))
    is_failed = content.get("type") != "web_fetch_result"
    fields = {"text": f"Error: {_text(content.get('error_code'))}"} if is_failed else {"text": text}
    if title := _text(document.get("title")):
        fields["title"] = title
    return [
        WebSearchCall(
            id=item_id("ws", use.id),
            status="failed" if is_failed else "completed",
            action={"type": "open_page", "url": url},
            results=[{"type": "text", "url": url, **fields}],
        )
    ]


def _code(use: ServerToolUseBlock, result: ServerToolResult, catalogue: Catalogue) -> Items:
    content = _table(result.content)
    logs = _printed(content)
    return [
        CodeInterpreterCall(
            id=item_id("ci", use.id),
            status="completed" if "stdout" in content else "failed",
            container_id="",
            code=_text(_table(use.input).get("code")),
            outputs=[{"type": "logs", "logs": logs}] if logs else [],
        )
    ]


def _bash(use: ServerToolUseBlock, result: ServerToolResult, catalogue: Catalogue) -> Items:
    content = _table(result.content)
    command = _text(_table(use.input).get("command"))
    code = content.get("return_code")
    output = ShellOutput(
        stdout=_text(content.get("stdout")),
        stderr=_text(content.get("stderr")) or _text(content.get("error_code")),
        outcome={"type": "exit", "exit_code": code if isinstance(code, int) else 1},
    )
    call_id = call_id_of(use.id)
    action = ShellAction(commands=[command])
    return [
        ShellCall(id=item_id("sh", use.id), status="completed", call_id=call_id, action=action),
        ShellCallOutput(
            id=item_id("sho", use.id), status="completed", call_id=call_id, output=[output]
        ),
    ]


def _tool_search(use: ServerToolUseBlock, result: ServerToolResult, catalogue: Catalogue) -> Items:
    references = _table(result.content).get("tool_references")
    found = (
        [_text(_table(one).get("tool_name")) for one in references]
        if isinstance(references, list)
        else []
    )
    for name in found:
        catalogue.load(name, "", is_lenient=True)
    query = use.input if isinstance(use.input, dict) else {}
    return [
        ToolSearchCall(
            id=item_id("tsc", use.id),
            status="completed",
            call_id=None,
            execution="server",
            arguments=query,
        ),
        ToolSearchOutput(
            id=item_id("tso", use.id),
            status="completed",
            call_id=None,
            execution="server",
            tools=catalogue.functions(found),
        ),
    ]


def _other(use: ServerToolUseBlock, result: ServerToolResult, catalogue: Catalogue) -> Items:
    call_id = call_id_of(use.id)
    return [
        FunctionCall(
            id=item_id("fc", use.id),
            status="completed",
            call_id=call_id,
            name=use.name,
            arguments=as_json(use.input),
        ),
        FunctionCallOutput(
            id=item_id("fco", use.id),
            status="completed",
            call_id=call_id,
            output=as_json(result.content),
        ),
    ]


_READERS: dict[type, Callable[[ServerToolUseBlock, Any, Catalogue], Items]] = {
    WebSearchResult: _web_search,
    WebFetchResult: _web_fetch,
    CodeResult: _code,
    BashResult: _bash,
    ToolSearchResult: _tool_search,
}


def mcp_item(use: McpToolUseBlock, result: McpToolResultBlock) -> McpCall:
    """Return a call of an MCP server's tool."""
    text = _text_of(result.content)
    item = McpCall(
        id=item_id("mcp", use.id),
        status="failed" if result.is_error else "completed",
        arguments=as_json(use.input),
        name=use.name,
        server_label=use.server_name,
    )
    if result.is_error:
        item.error = text
    else:
        item.output = text
    return item


def mcp_listing(block: McpToolListing, block_id: str) -> McpListTools:
    """Return the list of an MCP server's tools."""
    tools = [tool for tool in block.tools if isinstance(tool.get("name"), str)]
    return McpListTools(id=f"mcpl_{block_id}", server_label=block.mcp_server_name, tools=tools)


def as_json(value: Any) -> str:
    """Return a value as JSON."""
    return msgspec.json.encode(value).decode()


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(
        _text(each.get("text")) or as_json(each) for each in blocks if isinstance(each, dict)
    )


def _printed(content: Table) -> str:
    return "".join(
        (
            _text(content.get("stdout")),
            _text(content.get("stderr")),
            _text(content.get("error_code")),
        )
    )


def _table(value: Any) -> Table:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
