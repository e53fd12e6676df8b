"""Whatever is in a file is found by search, or the file fails with the reason."""

from collections.abc import Sequence

import pytest

from antiphon.documents.limits import INGESTION, REQUEST
from tests.support.planted import KINDS, Planted, Size
from tests.support.server import RunningServer
from tests.support.waiting import eventually

ROWS = REQUEST.rows
COLUMNS = REQUEST.columns
PAGES = REQUEST.pages
assert ROWS and COLUMNS and PAGES
BEYOND = {
    "csv": Size(ROWS + 100, 2, 1),
    "by_openpyxl": Size(ROWS + 100, COLUMNS + 100, 1),
    "by_reportlab": Size(1, 1, PAGES + 100),
}
"""Files with more rows, columns or pages than a request has of them."""
SMALL = Size(3, 4, 2)
MOST_SEARCHED = 12
"""Words of a place that are searched: the first, the last, and some between. The text of the file
is compared whole.
"""


async def ingested(server: RunningServer, file: Planted) -> tuple[str, str]:
    """Attach a file to a new store, and wait for its end; return the ids of both."""
    sdk = server.sdk
    store = (await sdk.vector_stores.create()).id
    sent = (await sdk.files.create(file=(file.name, file.content), purpose="assistants")).id
    await sdk.vector_stores.files.create(store, file_id=sent)
    await eventually(
        lambda: sdk.vector_stores.files.retrieve(sent, vector_store_id=store),
        lambda one: one.status != "in_progress",
    )
    return store, sent


def some(words: Sequence[str]) -> Sequence[str]:
    """Return some of the words, evenly spread, with the first and the last."""
    step = max(1, len(words) // MOST_SEARCHED)
    return [*words[::step], words[-1]]


@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
async def test_every_word_is_found_by_search(stateful: RunningServer, kind: str) -> None:
    file = KINDS[kind](BEYOND.get(kind, SMALL))
    store, sent = await ingested(stateful, file)
    ended = await stateful.sdk.vector_stores.files.retrieve(sent, vector_store_id=store)
    assert (ended.status, ended.last_error) == ("completed", None)
    content = await stateful.sdk.vector_stores.files.content(sent, vector_store_id=store)
    text = "".join(str(part.text) for part in content.data)
    for place, words in file.places.items():
        assert [word for word in words if word not in text] == [], place
        for word in some(words):
            found = await stateful.sdk.vector_stores.search(store, query=word)
            assert any(word in part.text for hit in found.data for part in hit.content), (
                place,
                word,
            )


@pytest.mark.wide
async def test_a_file_with_too_much_text_fails_with_the_reason(stateful: RunningServer) -> None:
    line = "planted words of a table,1,2,3\n"
    file = Planted("long.csv", (line * (INGESTION.longest // len(line) + 2)).encode())
    store, sent = await ingested(stateful, file)
    ended = await stateful.sdk.vector_stores.files.retrieve(sent, vector_store_id=store)
    assert ended.status == "failed"
    assert ended.last_error is not None
    assert ended.last_error.code == "invalid_file"
    assert "20 MB of text" in ended.last_error.message


@pytest.mark.wide
async def test_the_text_of_a_request_is_not_that_of_a_vector_store(stateful: RunningServer) -> None:
    """The store keeps one text of the content: the one that a limit has cut is not used for a
    search.
    """
    file = KINDS["csv"](BEYOND["csv"])
    last = file.places["column"][-1]
    sent = (await stateful.sdk.files.create(file=(file.name, file.content), purpose="user_data")).id
    part = {"type": "input_file", "file_id": sent}
    counted = await stateful.sdk.responses.input_tokens.count(
        model="m", input=[{"role": "user", "content": [part]}]
    )  # type: ignore[list-item]
    assert counted.input_tokens
    store, _ = await ingested(stateful, file)
    found = await stateful.sdk.vector_stores.search(store, query=last)
    assert any(last in part.text for hit in found.data for part in hit.content)
