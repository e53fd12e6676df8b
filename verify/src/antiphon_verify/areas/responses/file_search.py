"""File searches: items, events, results on request, and the citations of the model.

Each case uploads small files and adds them to its own vector store, which expires automatically.
"""

from collections.abc import Generator, Iterator
from typing import Any

from antiphon_verify.areas.responses.hosted import steps_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange, Step
from antiphon_verify.reading import at, is_integer, is_number, is_text, listed, preview
from antiphon_verify.replies.bodies import MESSAGE
from antiphon_verify.replies.responses import file_search as replies
from antiphon_verify.replies.responses.file_search import TEXT
from antiphon_verify.requirement import Stop, capability, must, should
from antiphon_verify.samples import search, spelled
from antiphon_verify.trial import Steps, Trial

Item = dict[str, Any]
Making = Generator[Step, Any, str]

POLLS, BETWEEN = 60, 0.5
"""How many times the store is polled while files are ingested, and the seconds between two
polls.
"""

HIDDEN = "The harbour master keeps a seagull named Ys.\n"
QUESTION = "How high is the lighthouse of Brest? Search the files."
PROMPT = spelled(QUESTION, search("file_search", "height of the lighthouse of Brest"))
BOUNDARY = "antiphon-verify"
MARKS = ("【", "<|file-")


def uploaded(trial: Trial, name: str, text: str) -> Making:
    """Upload a text; return the id of the file."""
    fields = {
        "purpose": "assistants",
        "expires_after[anchor]": "created_at",
        "expires_after[seconds]": "3600",
    }
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}'
        for key, value in fields.items()
    ]
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"'
    parts.append(f"{head}\r\nContent-Type: text/plain\r\n\r\n{text}")
    body = "\r\n".join([*parts, f"--{BOUNDARY}--\r\n"]).encode()
    kind = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
    exchange = yield from trial.post("/files", content=body, headers=kind)
    return str(trial.found(trial.whole(exchange), "id"))


def stocked(trial: Trial, name: str = "lighthouse.txt", text: str = TEXT) -> Making:
    """Create a vector store with one text, and wait until it can be searched; return its id."""
    file_id = yield from uploaded(trial, name, text)
    expiry = {"anchor": "last_active_at", "days": 1}
    body = {"name": "antiphon verify", "file_ids": [file_id], "expires_after": expiry}
    store = trial.whole((yield from trial.post("/vector_stores", body)))
    store_id = str(trial.found(store, "id"))
    for _ in range(POLLS):
        if at(store, "status") == "completed":
            return store_id
        yield from trial.pause(BETWEEN)
        store = trial.whole((yield from trial.get(f"/vector_stores/{store_id}")))
    raise Stop("skipped", f"The vector store never became ready: {preview(store)}")


def tool_of(store_id: str, **fields: Any) -> Item:
    """Return the tool that searches a store."""
    return {"type": "file_search", "vector_store_ids": [store_id], **fields}


def searches(response: Any) -> list[Item]:
    """Return the searches of a response.

    Ends the case without any, or if the model wrote no query.
    """
    found = [item for item in listed(response, "output") if at(item, "type") == "file_search_call"]
    if not found:
        raise Stop("skipped", "The model did not search the files.")
    if any(at(item, "status") == "failed" and not listed(item, "queries") for item in found):
        raise Stop("skipped", "The model called the search without a query.")
    return found


def is_whole(item: Item) -> bool:
    """Whether a search has completed and has queries."""
    queries = listed(item, "queries")
    return at(item, "status") == "completed" and bool(queries) and all(map(is_text, queries))


def is_result(value: Any) -> bool:
    """Whether this is one result."""
    score = at(value, "score")
    texts = all(is_text(at(value, name)) for name in ("file_id", "filename", "text"))
    return texts and is_number(score) and 0 <= score <= 1


def citations(response: Any) -> Iterator[tuple[Any, str]]:
    """Return the file citations, each with its text."""
    for item in listed(response, "output"):
        for part in listed(item, "content"):
            for annotation in listed(part, "annotations"):
                if at(annotation, "type") == "file_citation":
                    yield annotation, str(at(part, "text"))


def is_citation(annotation: Any, text: str) -> bool:
    """Whether a citation names a file, and a position inside its text."""
    index = at(annotation, "index")
    is_inside = is_integer(index) and 0 <= index <= len(text.encode("utf-16-le")) // 2
    return is_inside and is_text(at(annotation, "file_id")) and is_text(at(annotation, "filename"))


def results_of(items: list[Item]) -> list[Any]:
    """Return the results of all searches."""
    return [one for item in items for one in listed(item, "results")]


@case(
    must(
        "responses:file-search:item",
        "spec 5",
        "A search is a completed `file_search_call` with its queries, a list of strings.",
        fault=replies.streamed(replies.SEARCH | {"queries": []}, replies.citing()),
    ),
    must(
        "responses:file-search:order",
        "spec 4",
        "The steps of a search are `in_progress`, `searching` and `completed`, in this order.",
        fault=replies.streamed(replies.SEARCH, replies.citing(), steps=replies.STEPS[:2]),
    ),
    should(
        "responses:file-search:opened",
        "spec 4",
        "A search starts without queries.",
        fault=replies.streamed(replies.SEARCH, replies.citing(), opened=replies.SEARCH),
    ),
    must(
        "responses:file-search:goes-on",
        "spec 16",
        "After file searches a response continues to its end.",
        fault=replies.streamed(replies.citing(), replies.SEARCH),
    ),
    should(
        "responses:file-search:results-unasked",
        "spec 10",
        "Without `file_search_call.results` in `include` the results of a search are null.",
        fault=replies.streamed(replies.FOUND, replies.citing()),
    ),
    must(
        "responses:file-search:citations",
        "spec 5",
        "A file citation has the id and name of the file, and an index inside its text.",
        fault=replies.streamed(replies.SEARCH, replies.citing(11)),
    ),
    should(
        "responses:file-search:mark-cut",
        "spec 5",
        "The text does not contain the mark with which the model cites a file.",
        fault=replies.streamed(
            replies.SEARCH, replies.citing(text="27 metres【1†lighthouse.txt】.")
        ),
    ),
    capability(
        should(
            "responses:file-search:cited",
            "spec 16",
            "The model's answer cites what was found in files.",
            fault=replies.streamed(replies.SEARCH, MESSAGE),
        )
    ),
    good=replies.streamed(replies.SEARCH, replies.citing()),
)
def files_are_searched(trial: Trial) -> Steps:
    """Search a file in a stream."""
    store_id = yield from stocked(trial)
    exchange = yield from trial.respond(PROMPT, tools=[tool_of(store_id)], stream=True)
    events = trial.streamed(exchange)
    trial.offered(exchange)
    response = at(events, -1, "response")
    found = searches(response)
    trial.expect("responses:file-search:item", all(map(is_whole, found)), found)
    opened = [
        listed(event, "item", "queries")
        for event in events
        if at(event, "type") == "response.output_item.added"
        and at(event, "item", "type") == "file_search_call"
    ]
    steps = steps_of(events, "response.file_search_call.")
    trial.expect(
        "responses:file-search:order",
        steps == ["in_progress", "searching", "completed"] * len(found),
        steps,
    )
    trial.expect("responses:file-search:opened", not any(opened), opened)
    trial.expect("responses:file-search:results-unasked", not results_of(found), found)
    kinds = [at(item, "type") for item in listed(response, "output")]
    is_completed = at(response, "status") == "completed" and kinds[-1] == "message"
    trial.expect("responses:file-search:goes-on", is_completed, kinds)
    _judge_citations(trial, response)


def _judge_citations(trial: Trial, response: Any) -> None:
    cited = list(citations(response))
    trial.expect("responses:file-search:cited", bool(cited), response)
    if cited:
        wrong = [annotation for annotation, text in cited if not is_citation(annotation, text)]
        trial.expect("responses:file-search:citations", not wrong, wrong)
        marked = [text for _, text in cited if any(mark in text for mark in MARKS)]
        trial.expect("responses:file-search:mark-cut", not marked, marked)


@case(
    must(
        "responses:file-search:results",
        "spec 5",
        "Requested results are a list; each has the id and name of the file, a text, and a score "
        "from 0 to 1.",
        fault=[
            *replies.STOCKED,
            replies.with_output(
                replies.SEARCH | {"results": [replies.RESULT | {"score": 2}]}, replies.citing()
            ),
        ],
    ),
    should(
        "responses:file-search:results-later",
        "spec 10",
        "A GET with `include` returns the results of a stored search, and a GET without "
        "it does not.",
        fault=[
            *replies.STOCKED,
            replies.with_output(replies.FOUND, replies.citing()),
            *[replies.with_output(replies.SEARCH, replies.citing())] * 3,
        ],
    ),
    good=[
        *replies.STOCKED,
        replies.with_output(replies.FOUND, replies.citing()),
        replies.with_output(replies.SEARCH, replies.citing()),
        replies.with_output(replies.SEARCH, replies.citing()),
        replies.with_output(replies.FOUND, replies.citing()),
    ],
)
def results_are_requested(trial: Trial) -> Steps:
    """Search a file, and request the results, at once and later."""
    store_id = yield from stocked(trial)
    include = ["file_search_call.results"]
    exchange = yield from trial.respond(PROMPT, tools=[tool_of(store_id)], include=include)
    trial.offered(exchange)
    found = results_of(searches(trial.response(exchange)))
    trial.expect(
        "responses:file-search:results", bool(found) and all(map(is_result, found)), exchange.came
    )
    unasked = yield from trial.respond(PROMPT, tools=[tool_of(store_id)])
    place = f"/responses/{trial.found(trial.response(unasked), 'id')}"
    searches(unasked.json)
    without = trial.response((yield from trial.get(place)))
    later = trial.response((yield from trial.get(f"{place}?include[]=file_search_call.results")))
    is_included = bool(results_of(searches(later))) and not results_of(searches(without))
    trial.expect("responses:file-search:results-later", is_included, later)


@case(
    must(
        "responses:file-search:other-store",
        "spec 6",
        "A search covers only the stores in the request, never a store that only the model named.",
        fault=[
            *replies.STOCKED,
            *replies.STOCKED,
            replies.with_output(
                replies.SEARCH | {"results": [replies.RESULT | {"text": HIDDEN}]}, replies.citing()
            ),
        ],
    ),
    good=[*replies.STOCKED, *replies.STOCKED, replies.with_output(replies.FOUND, replies.citing())],
)
def the_model_names_another_store(trial: Trial) -> Steps:
    """Make the model name a store that is not in the request."""
    store_id = yield from stocked(trial)
    other_id = yield from stocked(trial, "harbour.txt", HIDDEN)
    call = search("file_search", "password", vector_store_ids=[other_id], vector_store_id=other_id)
    prompt = spelled("Search the files for the password.", call)
    exchange = yield from trial.respond(
        prompt, tools=[tool_of(store_id)], include=["file_search_call.results"]
    )
    trial.offered(exchange)
    searches(trial.response(exchange))
    is_hidden = "seagull" not in exchange.body.decode("utf-8", "replace")
    trial.expect("responses:file-search:other-store", is_hidden, exchange.came)


@case(
    should(
        "responses:file-search:echoed",
        "spec 6",
        "The tool is echoed with its stores, the number of results (20 by default) "
        "and the ranking options.",
        fault=[
            *replies.STOCKED,
            replies.with_output(MESSAGE, tools=[replies.ECHO]),
            replies.with_output(MESSAGE, tools=[replies.ECHO]),
            replies.REJECTED,
        ],
    ),
    must(
        "responses:file-search:too-many",
        "spec 6",
        "A `max_num_results` above 50 is rejected with a 4xx.",
        fault=[
            *replies.STOCKED,
            replies.with_output(MESSAGE, tools=[replies.ECHO]),
            replies.with_output(MESSAGE, tools=[replies.RANKED]),
            replies.with_output(MESSAGE, tools=[replies.ECHO]),
        ],
    ),
    good=[
        *replies.STOCKED,
        replies.with_output(MESSAGE, tools=[replies.ECHO]),
        replies.with_output(MESSAGE, tools=[replies.RANKED]),
        replies.REJECTED,
    ],
)
def a_search_is_offered(trial: Trial) -> Steps:
    """Offer a search, with and without bounds."""
    store_id = yield from stocked(trial)
    ranking = {"ranker": "auto", "score_threshold": 0.25}
    plain = yield from trial.respond("Say hello.", tools=[tool_of(store_id)])
    full = yield from trial.respond(
        "Say hello.", tools=[tool_of(store_id, ranking_options=ranking)]
    )
    trial.offered(plain)
    echoed = _echo_of(plain)
    ranked = at(_echo_of(full), "ranking_options")
    is_right = (at(echoed, "vector_store_ids"), at(echoed, "max_num_results")) == ([store_id], 20)
    are_ranked = at(ranked, "score_threshold") == ranking["score_threshold"]
    trial.expect("responses:file-search:echoed", is_right and are_ranked, preview(echoed))
    many = yield from trial.respond("Say hello.", tools=[tool_of(store_id, max_num_results=51)])
    trial.understood(many)
    trial.expect("responses:file-search:too-many", 400 <= many.status < 500, many.came)


def _echo_of(exchange: Exchange) -> Any:
    return at(exchange.json, "tools", 0)
