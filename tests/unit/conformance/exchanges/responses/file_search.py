"""Searches of files."""

from typing import Any

from antiphon_verify.areas.responses import file_search
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE

Item = dict[str, Any]

FILE = says({"id": "file-1", "object": "file"})
STORE = says({"id": "vs_1", "object": "vector_store", "status": "completed"})
READING = STORE.patched("status", to="in_progress")
STOCKED = [FILE, READING, STORE]

SEARCH: Item = {
    "id": "fs_1",
    "type": "file_search_call",
    "status": "completed",
    "queries": ["height of the lighthouse of Brest"],
    "results": None,
}
RESULT = {"file_id": "file-1", "filename": "lighthouse.txt", "score": 0.9, "text": file_search.TEXT, "attributes": {}}
FOUND = SEARCH | {"results": [RESULT]}
OPENED = SEARCH | {"status": "in_progress", "queries": []}
STEPS = ("in_progress", "searching", "completed")


def citing(index: int = 9, text: str = "27 metres.") -> Item:
    citation = {"type": "file_citation", "file_id": "file-1", "filename": "lighthouse.txt", "index": index}
    part = {"type": "output_text", "text": text, "annotations": [citation], "logprobs": []}
    return MESSAGE | {"content": [part]}


def gave(*items: Item, **fields: Any) -> Answer:
    return says(RESPONSE | {"output": list(items), **fields})


def streamed(*items: Item, steps: tuple[str, ...] = STEPS, opened: Item = OPENED) -> list[Answer]:
    """The files of a case, and the stream of a response of these items."""
    events = [{"type": "response.output_item.added", "output_index": 0, "item": opened}]
    events += [{"type": f"response.file_search_call.{step}", "output_index": 0, "item_id": "fs_1"} for step in steps]
    end = {"type": "response.completed", "response": RESPONSE | {"output": list(items)}}
    return [*STOCKED, streams([*events, end])]


ECHO = {"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 20, "ranking_options": {}}
RANKED = ECHO | {"ranking_options": {"ranker": "auto", "score_threshold": 0.25}}
REFUSED = error("Invalid 'tools[0].max_num_results'.", 400, "integer_above_max_value", "tools[0].max_num_results")

EXCHANGES: dict[str, Shown] = {
    **shown(
        file_search.files_are_searched,
        streamed(SEARCH, citing()),
        {
            "responses:file-search:item": streamed(SEARCH | {"queries": []}, citing()),
            "responses:file-search:order": streamed(SEARCH, citing(), steps=STEPS[:2]),
            "responses:file-search:opened": streamed(SEARCH, citing(), opened=SEARCH),
            "responses:file-search:goes-on": streamed(citing(), SEARCH),
            "responses:file-search:results-unasked": streamed(FOUND, citing()),
            "responses:file-search:citations": streamed(SEARCH, citing(11)),
            "responses:file-search:mark-cut": streamed(SEARCH, citing(text="27 metres【1†lighthouse.txt】.")),
            "responses:file-search:cited": streamed(SEARCH, MESSAGE),
        },
    ),
    **shown(
        file_search.results_are_asked_for,
        [*STOCKED, gave(FOUND, citing()), gave(SEARCH, citing()), gave(SEARCH, citing()), gave(FOUND, citing())],
        {
            "responses:file-search:results": [*STOCKED, gave(SEARCH | {"results": [RESULT | {"score": 2}]}, citing())],
            "responses:file-search:results-later": [*STOCKED, gave(FOUND, citing()), *[gave(SEARCH, citing())] * 3],
        },
    ),
    **spoiled(
        file_search.the_model_names_another_store,
        [*STOCKED, *STOCKED, gave(FOUND, citing())],
        [*STOCKED, *STOCKED, gave(SEARCH | {"results": [RESULT | {"text": file_search.HIDDEN}]}, citing())],
    ),
    **shown(
        file_search.a_search_is_offered,
        [*STOCKED, gave(MESSAGE, tools=[ECHO]), gave(MESSAGE, tools=[RANKED]), REFUSED],
        {
            "responses:file-search:echoed": [
                *STOCKED,
                gave(MESSAGE, tools=[ECHO]),
                gave(MESSAGE, tools=[ECHO]),
                REFUSED,
            ],
            "responses:file-search:too-many": [
                *STOCKED,
                gave(MESSAGE, tools=[ECHO]),
                gave(MESSAGE, tools=[RANKED]),
                gave(MESSAGE, tools=[ECHO]),
            ],
        },
    ),
}
