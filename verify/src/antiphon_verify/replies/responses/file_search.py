"""Searches of files."""

from typing import Any

from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE

TEXT = "The lighthouse of Brest was built in 1687 and is 27 metres high.\n"


Item = dict[str, Any]

FILE = states({"id": "file-1", "object": "file"})
STORE = states({"id": "vs_1", "object": "vector_store", "status": "completed"})
READING = STORE.patched("status", to="in_progress")
STOCKED = [FILE, READING, STORE]

SEARCH: Item = {
    "id": "fs_1",
    "type": "file_search_call",
    "status": "completed",
    "queries": ["height of the lighthouse of Brest"],
    "results": None,
}
RESULT = {
    "file_id": "file-1",
    "filename": "lighthouse.txt",
    "score": 0.9,
    "text": TEXT,
    "attributes": {},
}
FOUND = SEARCH | {"results": [RESULT]}
OPENED = SEARCH | {"status": "in_progress", "queries": []}
STEPS = ("in_progress", "searching", "completed")


def citing(index: int = 9, text: str = "27 metres.") -> Item:
    """Return a message that cites the file."""
    citation = {
        "type": "file_citation",
        "file_id": "file-1",
        "filename": "lighthouse.txt",
        "index": index,
    }
    part = {"type": "output_text", "text": text, "annotations": [citation], "logprobs": []}
    return MESSAGE | {"content": [part]}


def with_output(*items: Item, **fields: Any) -> Reply:
    """Return a response with these items."""
    return states(RESPONSE | {"output": list(items), **fields})


def streamed(*items: Item, steps: tuple[str, ...] = STEPS, opened: Item = OPENED) -> list[Reply]:
    """Return the files of a case, and the stream of a response with these items."""
    events = [{"type": "response.output_item.added", "output_index": 0, "item": opened}]
    events += [
        {"type": f"response.file_search_call.{step}", "output_index": 0, "item_id": "fs_1"}
        for step in steps
    ]
    end = {"type": "response.completed", "response": RESPONSE | {"output": list(items)}}
    return [*STOCKED, streams([*events, end])]


ECHO = {
    "type": "file_search",
    "vector_store_ids": ["vs_1"],
    "max_num_results": 20,
    "ranking_options": {},
}
RANKED = ECHO | {"ranking_options": {"ranker": "auto", "score_threshold": 0.25}}
REJECTED = error(
    "Invalid 'tools[0].max_num_results'.",
    400,
    "integer_above_max_value",
    "tools[0].max_num_results",
)
