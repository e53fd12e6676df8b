"""The run's MCP server as a function: a message in, the response out.

It implements the JSON-RPC of MCP as far as a client needs it that lists two tools and calls them.
The result of a call depends only on the call, so a case can compare it with what the tested server
returns.
"""

from typing import Any

from antiphon_verify.reading import at, is_text

Message = dict[str, Any]

PROTOCOL = "2025-06-18"
"""The version of MCP for a client that names none."""

LOOKUP: Message = {
    "name": "lookup",
    "description": "Return the shelf on which a word is found.",
    "inputSchema": {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word."}},
        "required": ["word"],
    },
    "annotations": {"readOnlyHint": True},
}

LOSE: Message = {
    "name": "lose",
    "description": "Take a word from its shelf. It always fails.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": False},
}

TOOLS = [LOOKUP, LOSE]

SILENT = "/silent"
"""The path under which calls are never answered."""

LOST = "The shelf is locked."
"""The error message of `lose`."""

UNKNOWN_METHOD = -32601
INVALID_PARAMS = -32602


def answer(message: Message) -> Message | None:
    """Return the response to a JSON-RPC message, None if it needs none."""
    if "id" not in message:
        return None
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    match message.get("method"):
        case "initialize":
            return reply | {"result": _greeting(message)}
        case "ping":
            return reply | {"result": {}}
        case "tools/list":
            return reply | {"result": {"tools": TOOLS}}
        case "tools/call":
            return reply | _called(
                at(message, "params", "name"), at(message, "params", "arguments")
            )
        case other:
            return reply | {
                "error": {"code": UNKNOWN_METHOD, "message": f"Method not found: {other}"}
            }


def shelf(word: str) -> str:
    """Return the result of `lookup` for a word."""
    return f"{word} is on shelf {sum(word.encode()) % 89 + 11}."


def row(word: str) -> str:
    """Return the row in the structured content of `lookup` for a word, which its text does not
    have.
    """
    return f"row-{sum(word.encode()) % 83 + 11}"


def _greeting(message: Message) -> Message:
    version = at(message, "params", "protocolVersion")
    return {
        "protocolVersion": version if is_text(version) else PROTOCOL,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "antiphon verify", "version": "1"},
    }


def _called(name: Any, arguments: Any) -> Message:
    if name == LOSE["name"]:
        return {"result": {"content": [{"type": "text", "text": LOST}], "isError": True}}
    if name != LOOKUP["name"]:
        return {"error": {"code": INVALID_PARAMS, "message": f"Unknown tool: {name}"}}
    word = at(arguments, "word")
    word = word if isinstance(word, str) else ""
    found = {
        "content": [{"type": "text", "text": shelf(word)}],
        "structuredContent": {"row": row(word)},
    }
    return {"result": found | {"isError": False}}
