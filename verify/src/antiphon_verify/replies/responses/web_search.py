"""Searches of the web."""

from typing import Any

from antiphon_verify.replies import Reply, states
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE

Item = dict[str, Any]

URL = "https://example.com/"

SEARCH: Item = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "capital of France", "queries": ["capital of France"]},
}

SOURCES = SEARCH | {"action": SEARCH["action"] | {"sources": [{"type": "url", "url": URL}]}}


def citing(first: int, last: int) -> Item:
    """Return a message with a citation between these indexes."""
    citation = {
        "type": "url_citation",
        "url": URL,
        "title": "Paris",
        "start_index": first,
        "end_index": last,
    }
    part = {"type": "output_text", "text": "Paris [1].", "annotations": [citation], "logprobs": []}
    return MESSAGE | {"content": [part]}


def with_output(*items: Item, **fields: Any) -> Reply:
    """Return a response with these items."""
    return states(RESPONSE | {"output": list(items), **fields})


FOUND = with_output(SEARCH, citing(6, 9))
