"""Vector stores: their objects, the files in them, batches and search."""

from collections.abc import Generator
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Step
from antiphon_verify.forms import TYPE, form
from antiphon_verify.reading import at, is_number, is_text, listed, preview, unlike
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies import replaced, states
from antiphon_verify.replies.responses import vector_stores as replies
from antiphon_verify.replies.responses.vector_stores import PLANTED, TEXT
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.trial import Steps, Trial

SOURCE = "spec 1"

SEARCH = "spec 1"


PATH = "/vector_stores"
ROWS = "".join(f"{row},{PLANTED.get(row, 'granite')}\n" for row in range(1500)).encode()
"""At 800 tokens a chunk it has fewer chunks than a search returns: the ranking of a search decides
nothing.
"""
MOST_RESULTS = 50
WAIT, POLLS = 0.25, 240
"""Seconds between two polls of a file, and the number of polls."""

Found = Generator[Step, Any, Any]


def create(trial: Trial, **body: Any) -> Found:
    """Create a vector store; return the exchange."""
    return (yield from trial.post(PATH, {"name": "antiphon verify", **body}))


def new_store(trial: Trial) -> Found:
    """Create a vector store; return its id. Ends the case if none was created."""
    exchange = yield from create(trial)
    trial.supported(exchange)
    return str(id_of(trial.whole(exchange)))


def upload(trial: Trial, content: bytes, name: str) -> Found:
    """Upload a file; return the exchange."""
    exchange = yield from trial.post(
        "/files", content=form({"purpose": "assistants"}, name, content), headers=TYPE
    )
    trial.supported(exchange)
    return exchange


def uploaded(trial: Trial, content: bytes = TEXT, name: str = "lighthouse.txt") -> Found:
    """Upload a file; return its id. Ends the case if that fails."""
    return str(id_of(trial.whole((yield from upload(trial, content, name)))))


def finished(trial: Trial, path: str) -> Found:
    """Return what a GET returns when nothing is in progress."""
    for _ in range(POLLS):
        exchange = yield from trial.get(path)
        if at(exchange.json, "status") != "in_progress":
            return exchange
        yield from trial.pause(WAIT)
    raise Stop("skipped", "Ingestion does not end.")


def is_store(value: Any) -> bool:
    """Whether this is a vector store without files."""
    counts = [
        at(value, "file_counts", name)
        for name in ("in_progress", "completed", "failed", "cancelled", "total")
    ]
    named = at(value, "object") == "vector_store" and is_text(at(value, "id"))
    return (
        named
        and at(value, "status") == "completed"
        and counts == [0] * 5
        and at(value, "usage_bytes") == 0
    )


@case(
    must(
        "responses:vector-stores:made",
        SOURCE,
        "A vector store can be created; an empty one is `completed`.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.patched("status", to="in_progress")),
    ),
    must(
        "responses:vector-stores:retrieved",
        SOURCE,
        "A vector store can be retrieved as it was created.",
        fault=replaced(replies.LIFE, 1, replies.CREATED.patched("id", to="vs_2")),
    ),
    should(
        "responses:vector-stores:changed",
        SOURCE,
        "The name and the metadata of a vector store can be changed.",
        fault=replaced(replies.LIFE, 2, replies.CREATED),
    ),
    should(
        "responses:vector-stores:deleted-body",
        SOURCE,
        "A deletion returns `vector_store.deleted` and the id.",
        fault=replaced(replies.LIFE, 3, states({})),
    ),
    should(
        "responses:vector-stores:deleted",
        SOURCE,
        "A deleted vector store returns 404.",
        fault=replaced(replies.LIFE, 4, replies.CREATED),
    ),
    good=replies.LIFE,
)
def a_store_lives(trial: Trial) -> Steps:
    """Create a vector store, retrieve it, change it, and delete it."""
    exchange = yield from create(trial, metadata={"a": "1"})
    trial.supported(exchange)
    trial.expect(
        "responses:vector-stores:made", exchange.is_ok and is_store(exchange.json), exchange.came
    )
    path = f"{PATH}/{id_of(trial.whole(exchange))}"
    found = yield from trial.get(path)
    trial.expect(
        "responses:vector-stores:retrieved", found.is_ok and found.json == exchange.json, found.came
    )
    changed = yield from trial.post(path, {"name": "other", "metadata": {"b": "2"}})
    is_changed = at(changed.json, "name") == "other" and at(changed.json, "metadata") == {"b": "2"}
    trial.expect("responses:vector-stores:changed", changed.is_ok and is_changed, changed.came)
    deleted = yield from trial.delete(path)
    is_right = (
        at(deleted.json, "object") == "vector_store.deleted" and at(deleted.json, "deleted") is True
    )
    is_named = at(deleted.json, "id") == id_of(exchange.json)
    trial.expect("responses:vector-stores:deleted-body", is_right and is_named, deleted.came)
    missing = yield from trial.get(path)
    trial.expect(
        "responses:vector-stores:deleted", deleted.is_ok and missing.status == 404, missing.came
    )


@case(
    should(
        "responses:vector-stores:listed",
        SOURCE,
        "Vector stores are listed, newest first, with `first_id` and `last_id`.",
        fault=replaced(replies.LISTS, 3, replies.page("vs_0", "vs_1", "vs_2")),
    ),
    should(
        "responses:vector-stores:paged",
        SOURCE,
        "`limit`, `after` and `before` page through the list.",
        fault=replaced(replies.LISTS, 5, replies.page("vs_2")),
    ),
    good=replies.LISTS,
)
def stores_are_listed(trial: Trial) -> Steps:
    """Create three vector stores, list them, and page through the list both ways; others can be in
    between.
    """
    oldest = yield from new_store(trial)
    middle = yield from new_store(trial)
    last = yield from new_store(trial)
    page = yield from trial.get(f"{PATH}?limit=100")
    data = listed(page.json, "data")
    ends = [at(data, 0, "id"), at(data, -1, "id")] if data else []
    is_list = at(page.json, "object") == "list" and among(page.json, oldest, middle, last) == [
        last,
        middle,
        oldest,
    ]
    is_around = [at(page.json, "first_id"), at(page.json, "last_id")] == ends
    trial.expect("responses:vector-stores:listed", is_list and is_around, page.came)
    behind = yield from trial.get(f"{PATH}?limit=100&after={last}")
    before = yield from trial.get(f"{PATH}?limit=100&before={oldest}")
    found = [among(part.json, oldest, middle, last) for part in (behind, before)]
    trial.expect(
        "responses:vector-stores:paged", found == [[middle, oldest], [last, middle]], preview(found)
    )


def among(page: Any, *ids: str) -> list[str]:
    """Return those of these that a page has, in its order."""
    return [one for one in (at(each, "id") for each in listed(page, "data")) if one in ids]


@case(
    must(
        "responses:vector-stores:attached",
        SOURCE,
        "A file can be attached by its id, and becomes `completed`.",
        fault=replaced(replies.ATTACHED, 4, replies.FAILED),
    ),
    should(
        "responses:vector-stores:chunking",
        SOURCE,
        "The strategy `auto` is returned as `static` with its sizes.",
        fault=replaced(
            replies.ATTACHED, 4, replies.DONE.patched("chunking_strategy", to={"type": "auto"})
        ),
    ),
    should(
        "responses:vector-stores:counted",
        SOURCE,
        "A vector store counts its files by status, and their bytes.",
        fault=replaced(replies.ATTACHED, 5, replies.CREATED),
    ),
    must(
        "responses:vector-stores:searched",
        SEARCH,
        "A search returns chunks with file, text, and a score of 0 to 1.",
        fault=replaced(replies.ATTACHED, 6, replies.HITS.patched("data", 0, "score", to=3)),
    ),
    should(
        "responses:vector-stores:filtered",
        SEARCH,
        "A filter on attributes applies to a search.",
        fault=replaced(replies.ATTACHED, 7, replies.HITS),
    ),
    should(
        "responses:vector-stores:content",
        SOURCE,
        "The text of an attached file can be read.",
        fault=replaced(replies.ATTACHED, 8, replies.CONTENT.patched("data", to=[])),
    ),
    should(
        "responses:vector-stores:detached",
        SOURCE,
        "A detached file is not found by a search, and is not deleted.",
        fault=replaced(replies.ATTACHED, 10, replies.HITS),
    ),
    good=replies.ATTACHED,
)
def a_file_is_attached(trial: Trial) -> Steps:
    """Attach a file with attributes, search for it with a filter, read it, and detach it."""
    store = yield from new_store(trial)
    file = yield from uploaded(trial)
    path = f"{PATH}/{store}/files/{file}"
    begun = yield from trial.post(
        f"{PATH}/{store}/files", {"file_id": file, "attributes": {"year": 1687}}
    )
    trial.supported(begun)
    done = yield from finished(trial, path)
    is_entry = (
        at(done.json, "object") == "vector_store.file" and at(done.json, "vector_store_id") == store
    )
    is_done = at(done.json, "id") == file and at(done.json, "status") == "completed"
    trial.expect(
        "responses:vector-stores:attached", begun.is_ok and is_entry and is_done, done.came
    )
    sizes = {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}
    strategy = {"type": "static", "static": sizes}
    trial.expect(
        "responses:vector-stores:chunking",
        at(done.json, "chunking_strategy") == strategy,
        done.came,
    )
    whole = yield from trial.get(f"{PATH}/{store}")
    counts = [at(whole.json, "file_counts", name) for name in ("completed", "total")]
    trial.expect(
        "responses:vector-stores:counted",
        counts == [1, 1] and bool(at(whole.json, "usage_bytes")),
        whole.came,
    )
    found = yield from trial.post(
        f"{PATH}/{store}/search", {"query": "When was the lighthouse built?"}
    )
    trial.expect(
        "responses:vector-stores:searched", found.is_ok and is_found(found.json, file), found.came
    )
    other = {"type": "gt", "key": "year", "value": 1700}
    none = yield from trial.post(
        f"{PATH}/{store}/search", {"query": "lighthouse", "filters": other}
    )
    trial.expect(
        "responses:vector-stores:filtered", none.is_ok and at(none.json, "data") == [], none.came
    )
    content = yield from trial.get(f"{path}/content")
    text = "".join(str(at(part, "text")) for part in listed(content.json, "data"))
    trial.expect("responses:vector-stores:content", "built in 1687" in text, content.came)
    detached = yield from trial.delete(path)
    missing = yield from trial.post(f"{PATH}/{store}/search", {"query": "lighthouse"})
    file_after = yield from trial.get(f"/files/{file}")
    is_detached = (
        at(missing.json, "data") == []
        and at(detached.json, "object") == "vector_store.file.deleted"
    )
    came = f"{detached.came}; then {missing.came}; then {file_after.came}"
    trial.expect(
        "responses:vector-stores:detached",
        detached.is_ok and is_detached and file_after.is_ok,
        came,
    )


@case(
    must(
        "responses:vector-stores:whole",
        SEARCH,
        "A search finds the first, the middle and the last row of a long file, or an error says "
        "that the file failed.",
        fault=replies.CUT,
    ),
    good=replies.WHOLLY,
)
def a_long_file_is_found_whole(trial: Trial) -> Steps:
    """Attach a text and a table with 1,500 rows, and search each for its first, middle and last
    row.
    """
    missing_texts: dict[str, list[str]] = {}
    for name in ("rows.txt", "rows.csv"):
        store = yield from _filled(trial, name)
        if store:
            missing_texts[name] = yield from _not_found(trial, store)
    trial.expect("responses:vector-stores:whole", not any(missing_texts.values()), missing_texts)


def _filled(trial: Trial, name: str) -> Found:
    """Return the id of a store with the long file, "" if an error says that the server does not
    take this file.
    """
    store = yield from new_store(trial)
    sent = yield from upload(trial, ROWS, name)
    if is_refused(sent):
        return ""
    file = id_of(trial.whole(sent))
    begun = yield from trial.post(f"{PATH}/{store}/files", {"file_id": file})
    trial.supported(begun)
    if is_refused(begun):
        return ""
    trial.whole(begun)
    done = yield from finished(trial, f"{PATH}/{store}/files/{file}")
    is_right = at(done.json, "status") == "failed" and is_text(
        at(done.json, "last_error", "message")
    )
    return "" if is_right else store


def _not_found(trial: Trial, store: str) -> Found:
    """Return the planted sentences that a search for them does not find."""
    missing_texts = []
    for sentence in PLANTED.values():
        body = {"query": sentence, "max_num_results": MOST_RESULTS}
        page = yield from trial.post(f"{PATH}/{store}/search", body)
        texts = [
            str(at(part, "text"))
            for hit in listed(page.json, "data")
            for part in listed(hit, "content")
        ]
        if not any(sentence in text for text in texts):
            missing_texts.append(sentence)
    return missing_texts


def is_found(page: Any, file: str) -> bool:
    """Whether a search found the file's text."""
    hit = at(page, "data", 0)
    score = at(hit, "score")
    text = at(hit, "content", 0, "text")
    is_scored = is_number(score) and 0 <= score <= 1
    is_page = at(page, "object") == "vector_store.search_results.page"
    return (
        is_page
        and at(hit, "file_id") == file
        and is_scored
        and is_text(text)
        and "1687" in str(text)
    )


@case(
    should(
        "responses:vector-stores:batch",
        SOURCE,
        "Files can be attached as a batch, which counts its files.",
        fault=replaced(replies.BATCHED, 5, replies.page("file-1")),
    ),
    should(
        "responses:vector-stores:failed",
        SOURCE,
        "An unreadable file is `failed`, with an error.",
        fault=replaced(replies.BATCHED, 6, replies.FAILED),
    ),
    good=replies.BATCHED,
)
def a_batch_is_attached(trial: Trial) -> Steps:
    """Attach a file that can be read and one that cannot as a batch, and list its files."""
    store = yield from new_store(trial)
    good = yield from uploaded(trial)
    bad = yield from uploaded(trial, b"%PDF-1.7\n%%EOF\n", "broken.pdf")
    begun = yield from trial.post(f"{PATH}/{store}/file_batches", {"file_ids": [good, bad]})
    trial.supported(begun)
    path = f"{PATH}/{store}/file_batches/{id_of(trial.whole(begun))}"
    done = yield from finished(trial, path)
    counts = [at(done.json, "file_counts", name) for name in ("completed", "failed", "total")]
    files = yield from trial.get(f"{path}/files?order=asc")
    ids = [at(one, "id") for one in listed(files.json, "data")]
    is_ended = (
        at(done.json, "status") == "completed"
        and sum(filter(is_number, counts[:2])) == 2 == counts[2]
    )
    trial.expect(
        "responses:vector-stores:batch",
        is_ended and sorted(map(str, ids)) == sorted([good, bad]),
        done.came,
    )
    failed = yield from trial.get(f"{PATH}/{store}/files/{bad}")
    error = at(failed.json, "last_error")
    is_right = is_text(at(error, "code")) and is_text(at(error, "message"))
    trial.expect(
        "responses:vector-stores:failed",
        at(failed.json, "status") == "failed" and is_right,
        failed.came,
    )


@case(
    should(
        "responses:vector-stores:unknown",
        SOURCE,
        "An unknown vector store returns 404.",
        fault=replaced(replies.WRONG, 1, replies.CREATED),
    ),
    should(
        "responses:vector-stores:unknown-file",
        SOURCE,
        "Attaching an unknown file returns 404.",
        fault=replaced(replies.WRONG, 3, replies.ENTRY),
    ),
    should(
        "responses:vector-stores:bad-attributes",
        SOURCE,
        "An attribute that is a list is rejected with 400.",
        fault=replaced(replies.WRONG, 4, replies.ENTRY),
    ),
    good=replies.WRONG,
)
def what_is_wrong_is_refused(trial: Trial) -> Steps:
    """Retrieve an unknown vector store, attach an unknown file, and attach one with a list as an
    attribute.
    """
    store = yield from new_store(trial)
    unknown = yield from trial.get(f"{PATH}/{unlike(store)}")
    trial.expect("responses:vector-stores:unknown", unknown.status == 404, unknown.came)
    file = yield from uploaded(trial)
    nothing = yield from trial.post(f"{PATH}/{store}/files", {"file_id": unlike(file)})
    trial.expect("responses:vector-stores:unknown-file", nothing.status == 404, nothing.came)
    body = {"file_id": file, "attributes": {"tags": ["a"]}}
    wrong = yield from trial.post(f"{PATH}/{store}/files", body)
    trial.expect("responses:vector-stores:bad-attributes", wrong.status == 400, wrong.came)
