"""Markers of the prompt cache: the API caches only up to a block that is marked, and at most four
are.

A conversation is marked behind its instructions and tools, which all its turns share, and at its
end and the end of the turn before, so that the next turn reads what this one wrote. Writing costs a
quarter more than reading without a cache, so a single question without tools is not marked.
"""

from typing import Any

from antiphon.translation.to_messages_api.content import LONG_MARKER, MARKER, Block

MOST = 4
"""Markers that the API accepts."""

UNMARKED = ("thinking", "redacted_thinking")
"""Blocks that cannot be marked."""


def mark(body: dict[str, Any], retention: Any) -> None:
    """Mark the request, unless the client has marked it: then the last four of its markers stay.

    `retention` is its `prompt_cache_retention`.
    """
    messages = body["messages"]
    if marked := _marked(body):
        for block in marked[:-MOST]:
            del block["cache_control"]
        return
    if "cache_control" in body or (len(messages) == 1 and "tools" not in body):
        return
    marker = LONG_MARKER if retention == "24h" else MARKER
    shared = body.get("system") or body.get("tools")
    ends = [one["content"] for one in messages if one["role"] == "user"][-2:]
    for blocks in (shared, *ends):
        if blocks and blocks[-1].get("type") not in UNMARKED:
            blocks[-1] = {**blocks[-1], "cache_control": marker}


def _marked(body: dict[str, Any]) -> list[Block]:
    """Return the blocks that are marked, and the results that contain one."""
    lists = [body.get("tools", []), body.get("system", [])]
    lists += [message["content"] for message in body["messages"]]
    blocks = [block for blocks in lists for block in blocks]
    inner = [one for block in blocks for one in block.get("content") or ()]
    return [block for block in (*blocks, *inner) if "cache_control" in block]
