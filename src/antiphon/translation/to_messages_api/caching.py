"""Markers of the prompt cache: the API caches only up to a block that is marked, and at most four
are.

A conversation is marked behind its instructions and tools, which all its turns share, and at its
end and the end of the turn before, so that the next turn reads what this one wrote. Writing costs a
quarter more than reading without a cache, so a single question without tools is not marked.
"""

from typing import Any

MARKER = {"type": "ephemeral"}

UNMARKED = ("thinking", "redacted_thinking")
"""Blocks that cannot be marked."""


def mark(body: dict[str, Any], retention: Any) -> None:
    """Mark the request, unless the client has marked it; `retention` is its
    `prompt_cache_retention`.
    """
    messages = body["messages"]
    is_single = len(messages) == 1 and "tools" not in body
    if is_single or _is_marked(body):
        return
    marker = {**MARKER, "ttl": "1h"} if retention == "24h" else MARKER
    shared = body.get("system") or body.get("tools")
    ends = [one["content"] for one in messages if one["role"] == "user"][-2:]
    for blocks in (shared, *ends):
        if blocks and blocks[-1].get("type") not in UNMARKED:
            blocks[-1] = {**blocks[-1], "cache_control": marker}


def _is_marked(body: dict[str, Any]) -> bool:
    lists = [body.get("system", []), body.get("tools", [])]
    lists += [message["content"] for message in body["messages"]]
    return "cache_control" in body or any(
        "cache_control" in block for blocks in lists for block in blocks
    )
