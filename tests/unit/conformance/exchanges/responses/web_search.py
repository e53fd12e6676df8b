"""Searches of the web."""

from typing import Any

from antiphon_verify.areas.responses import web_search
from tests.unit.conformance.exchanges import Answer, Shown, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE

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
    citation = {"type": "url_citation", "url": URL, "title": "Paris", "start_index": first, "end_index": last}
    part = {"type": "output_text", "text": "Paris [1].", "annotations": [citation], "logprobs": []}
    return MESSAGE | {"content": [part]}


def gave(*items: Item, **fields: Any) -> Answer:
    return says(RESPONSE | {"output": list(items), **fields})


FOUND = gave(SEARCH, citing(6, 9))


def taking() -> dict[str, Shown]:
    cases = {case.name.removeprefix("web_search_"): case for case in web_search.TAKING}
    return {
        f"responses:web-search:{name}": Shown(cases[name], [gave(MESSAGE, tools=[tool])], [gave(MESSAGE, tools=[])])
        for name, tool in web_search.TAKEN.items()
    }


EXCHANGES: dict[str, Shown] = {
    **shown(
        web_search.the_web_is_searched,
        [FOUND],
        {
            "responses:web-search:action": [gave(SEARCH | {"action": {"type": "search"}}, citing(6, 9))],
            "responses:web-search:sources-unasked": [gave(SOURCES, citing(6, 9))],
            "responses:web-search:results-unasked": [gave(SEARCH | {"results": [{"url": URL}]}, citing(6, 9))],
            "responses:web-search:citations": [gave(SEARCH, citing(9, 16))],
            "responses:web-search:cited": [gave(SEARCH, MESSAGE)],
            "responses:web-search:goes-on": [gave(citing(6, 9), SEARCH)],
        },
    ),
    **spoiled(web_search.sources_are_asked_for, [gave(SOURCES, MESSAGE)], [FOUND]),
    **spoiled(web_search.searches_are_bounded, [FOUND], [gave(SEARCH, SEARCH, MESSAGE)]),
    **spoiled(web_search.a_search_is_demanded, [FOUND], [gave(MESSAGE)]),
    **taking(),
}
