"""A model that calls tools once and then repeats what they answered, and an MCP server as a request
names it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.replay import Answer, delta, sse


def calling(request: Mapping[str, Any], *calls: tuple[str, Mapping[str, Any]]) -> Answer:
    """Make these calls, name and arguments of each; once they are answered, say the answers."""
    answers = [message["content"] for message in request["messages"] if message["role"] == "tool"]
    if answers:
        return Answer([sse(delta(content="\n".join(map(str, answers))), delta("stop"))])
    created: Sequence[dict[str, Any]] = [
        {
            "index": number,
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    return Answer([sse(*(delta(tool_calls=[call]) for call in created), delta("tool_calls"))])


def mcp(url: str) -> dict[str, object]:
    """The tool by which a request names an MCP server."""
    return {"type": "mcp", "server_label": "tests", "server_url": url, "require_approval": "never"}
