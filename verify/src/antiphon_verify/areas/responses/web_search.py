"""Web searches: their content, what is included only on request, and how many run."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from antiphon_verify.areas.responses.hosted import WEB_SEARCH
from antiphon_verify.case import Case, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import at, is_integer, is_text, listed, preview
from antiphon_verify.replies.bodies import MESSAGE
from antiphon_verify.replies.responses import web_search as replies
from antiphon_verify.requirement import Requirement, Stop, capability, must, should
from antiphon_verify.samples import search, spelled
from antiphon_verify.trial import Steps, Trial

Item = dict[str, Any]

TOOL = WEB_SEARCH.tool
PROMPT = WEB_SEARCH.prompt


def searches(trial: Trial, exchange: Exchange) -> list[Item]:
    """Return the searches of a response. Ends the case without any."""
    trial.offered(exchange)
    found = [
        item
        for item in listed(trial.response(exchange), "output")
        if at(item, "type") == "web_search_call"
    ]
    if not found:
        raise Stop("skipped", "The model did not search the web.")
    return found


def has_query(item: Item) -> bool:
    """Whether a search has its query; opening a page, and finding in it, have none."""
    action = item.get("action")
    return (
        at(action, "type") != "search"
        or is_text(at(action, "query"))
        or bool(listed(action, "queries"))
    )


def are_sources(item: Item) -> bool:
    """Whether a search has a list of sources."""
    sources = at(item, "action", "sources")
    return isinstance(sources, list) and all(
        at(one, "type") == "url" and is_text(at(one, "url")) for one in sources
    )


def citations(response: Any) -> Iterator[tuple[Any, str]]:
    """Return the citations of a response's texts, each with its text."""
    for item in listed(response, "output"):
        for part in listed(item, "content"):
            for annotation in listed(part, "annotations"):
                if at(annotation, "type") == "url_citation":
                    yield annotation, str(at(part, "text"))


def is_citation(annotation: Any, text: str) -> bool:
    """Whether a citation is complete, and inside its text."""
    first = at(annotation, "start_index")
    last = at(annotation, "end_index")
    if not (is_integer(first) and is_integer(last) and isinstance(at(annotation, "title"), str)):
        return False
    return (
        is_text(at(annotation, "url")) and 0 <= first <= last <= len(text.encode("utf-16-le")) // 2
    )


@case(
    must(
        "responses:web-search:action",
        "spec 5",
        "A search has its query, in `query` or in `queries`.",
        fault=[
            replies.with_output(
                replies.SEARCH | {"action": {"type": "search"}}, replies.citing(6, 9)
            )
        ],
    ),
    should(
        "responses:web-search:sources-unasked",
        "spec 10",
        "Without `web_search_call.action.sources` in `include`, no action has sources.",
        fault=[replies.with_output(replies.SOURCES, replies.citing(6, 9))],
    ),
    should(
        "responses:web-search:results-unasked",
        "spec 10",
        "Without `web_search_call.results` in `include`, no search has results.",
        fault=[
            replies.with_output(
                replies.SEARCH | {"results": [{"url": replies.URL}]}, replies.citing(6, 9)
            )
        ],
    ),
    must(
        "responses:web-search:citations",
        "spec 5",
        "A citation has a URL, a title, and two indexes in its text, the first before the second.",
        fault=[replies.with_output(replies.SEARCH, replies.citing(9, 16))],
    ),
    capability(
        should(
            "responses:web-search:cited",
            "spec 16",
            "The model's answer cites what was found.",
            fault=[replies.with_output(replies.SEARCH, MESSAGE)],
        )
    ),
    must(
        "responses:web-search:goes-on",
        "spec 16",
        "After its searches a response continues to its end, and is completed.",
        fault=[replies.with_output(replies.citing(6, 9), replies.SEARCH)],
    ),
    good=[replies.FOUND],
)
def the_web_is_searched(trial: Trial) -> Steps:
    """Search the web."""
    exchange = yield from trial.respond(PROMPT, tools=[TOOL])
    found = searches(trial, exchange)
    trial.expect("responses:web-search:action", all(map(has_query, found)), found)
    has_sources = any(at(item, "action", "sources") for item in found)
    trial.expect("responses:web-search:sources-unasked", not has_sources, found)
    trial.expect(
        "responses:web-search:results-unasked",
        not any(item.get("results") for item in found),
        found,
    )
    kinds = [at(item, "type") for item in exchange.json["output"]]
    is_completed = at(exchange.json, "status") == "completed" and kinds[-1] == "message"
    trial.expect("responses:web-search:goes-on", is_completed, kinds)
    cited = list(citations(exchange.json))
    trial.expect("responses:web-search:cited", bool(cited), exchange.came)
    if cited:
        wrong = [annotation for annotation, text in cited if not is_citation(annotation, text)]
        trial.expect("responses:web-search:citations", not wrong, wrong)


@case(
    must(
        "responses:web-search:sources",
        "spec 5",
        "Requested sources are a list; each has the type `url` and a URL.",
        fault=[replies.FOUND],
    ),
    good=[replies.with_output(replies.SOURCES, MESSAGE)],
)
def sources_are_requested(trial: Trial) -> Steps:
    """Search the web, and request the sources."""
    include = ["web_search_call.action.sources"]
    exchange = yield from trial.respond(PROMPT, tools=[TOOL], include=include)
    searched = [one for one in searches(trial, exchange) if at(one, "action", "type") == "search"]
    done = [one for one in searched if one.get("status") == "completed"]
    if not done:
        raise Stop("skipped", "No search succeeded.")
    trial.expect("responses:web-search:sources", all(map(are_sources, done)), done)


@case(
    must(
        "responses:web-search:max-tool-calls",
        "spec 2",
        "A response makes no more searches than `max_tool_calls`.",
        fault=[replies.with_output(replies.SEARCH, replies.SEARCH, MESSAGE)],
    ),
    good=[replies.FOUND],
)
def searches_are_bounded(trial: Trial) -> Steps:
    """Request several searches, and allow one."""
    searched = [search("web_search", f"capital of {one}") for one in ("France", "Italy", "Spain")]
    several = spelled(
        "Search the web for the capitals of France, Italy and Spain, one after the other.",
        *searched,
    )
    exchange = yield from trial.respond(several, tools=[TOOL], max_tool_calls=1)
    found = searches(trial, exchange)
    trial.expect("responses:web-search:max-tool-calls", len(found) == 1, found)


@case(
    should(
        "responses:web-search:choice",
        "spec 6",
        "With a `tool_choice` of the preview name, the model searches the web.",
        fault=[replies.with_output(MESSAGE)],
    ),
    good=[replies.FOUND],
)
def a_search_is_demanded(trial: Trial) -> Steps:
    """Force a search."""
    tool = {"type": "web_search_preview"}
    exchange = yield from trial.respond("Say hello.", tools=[tool], tool_choice=tool)
    if not exchange.is_ok:
        trial.succeed(exchange)
    kinds = [at(item, "type") for item in listed(exchange.json, "output")]
    trial.offered(exchange)
    trial.expect("responses:web-search:choice", "web_search_call" in kinds, kinds)


FULL: Item = {
    "type": "web_search",
    "filters": {"allowed_domains": ["example.com"]},
    "user_location": {"type": "approximate", "city": "Brest", "country": "FR"},
    "search_context_size": "low",
    "external_web_access": False,
}


def accepted_search(requirement: Requirement, tool: Item) -> Case:
    """Return the case that sends a search tool, which must be accepted and echoed."""
    row = replace(requirement, fault=[replies.with_output(MESSAGE, tools=[])])
    name = row.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond("Say hello.", tools=[tool])
        trial.offered(exchange)
        echoed = at(exchange.json, "tools", 0)
        is_echoed = exchange.is_ok and all(
            _holds(at(echoed, key), value) for key, value in tool.items()
        )
        trial.expect(row.id, is_echoed, exchange.came if not exchange.is_ok else preview(echoed))

    script.__doc__ = f"Send a search tool: {name}."
    return Case(
        f"web_search_{name}", (row,), script, good=[replies.with_output(MESSAGE, tools=[tool])]
    )


def _holds(echoed: Any, sent: Any) -> bool:
    """Whether the echoed tool has everything that was sent; servers fill in the rest."""
    if isinstance(sent, dict):
        return all(_holds(at(echoed, key), value) for key, value in sent.items())
    return bool(echoed == sent)


ACCEPTED = (
    accepted_search(
        should(
            "responses:web-search:dated", "spec 6", "A search tool is accepted by its dated name."
        ),
        {"type": "web_search_2025_08_26"},
    ),
    accepted_search(
        should(
            "responses:web-search:preview",
            "spec 6",
            "A search tool is accepted by its preview name.",
        ),
        {"type": "web_search_preview"},
    ),
    accepted_search(
        should(
            "responses:web-search:parameters",
            "spec 6",
            "Filters, user location, context size and cached-only access are accepted and echoed.",
        ),
        FULL,
    ),
)
