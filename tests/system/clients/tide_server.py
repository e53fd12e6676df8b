"""An MCP server on standard input and output with one tool, for Codex to start."""

import json
import sys
from typing import Any

TOOL = {
    "name": "tide_at",
    "description": "Say when the tide is high.",
    "inputSchema": {
        "type": "object",
        "properties": {"place": {"type": "string"}},
        "required": ["place"],
    },
    "annotations": {"readOnlyHint": True},  # so that nobody has to approve
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of one request."""
    match method:
        case "initialize":
            version = params["protocolVersion"]
            server = {"name": "tides", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {
                "content": [
                    {"type": "text", "text": f"high in {params['arguments']['place']} at 14:05"}
                ]
            }
        case _:
            return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
