import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from antiphon.upstream.discover import LOCAL, PROBE_TIMEOUT, discover, named_by_environment
from tests.support.replay import ReplayBackend, echo

UNAVAILABLE = "http://127.0.0.1:9/v1"


@asynccontextmanager
async def silent() -> AsyncIterator[tuple[str, list[int]]]:
    """A server that takes connections and says nothing: its URL, and how many it had as each
    came.
    """
    writers = []
    had = list[int]()
    number = 0

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal number
        writers.append(writer)
        number += 1
        had.append(number)
        await reader.read()
        number -= 1

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", had
    server.close()
    for writer in writers:
        writer.close()


async def test_what_lists_models_is_found_in_the_order_of_the_places() -> None:
    async with ReplayBackend(echo).serve() as one, ReplayBackend(echo).serve() as other:
        places = [("b", other.url), ("gone", UNAVAILABLE), ("a", one.url)]

        assert await discover(places) == [("b", other.url), ("a", one.url)]


async def test_where_nothing_answers_nothing_is_found() -> None:
    assert await discover([("gone", UNAVAILABLE)]) == []


async def test_silent_places_are_waited_for_side_by_side_and_not_long() -> None:
    async with silent() as (url, had), ReplayBackend(echo).serve() as one:
        found = await discover(
            [(f"silent{number}", url) for number in range(8)] + [("one", one.url)]
        )

    assert found == [("one", one.url)]
    assert had == list(range(1, 9))


def test_the_usual_places_are_on_this_machine() -> None:
    assert PROBE_TIMEOUT == 0.3
    assert {url.rpartition(":")[2] for url in LOCAL.values()} == {
        "11434/v1",
        "1234/v1",
        "8080/v1",
        "8000/v1",
    }
    assert all(url.startswith("http://127.0.0.1:") for url in LOCAL.values())


def test_openais_variables_name_a_backend() -> None:
    assert named_by_environment({}) is None
    assert named_by_environment({"OPENAI_API_KEY": "k"}) == ("https://api.openai.com/v1", "k")
    assert named_by_environment({"OPENAI_BASE_URL": UNAVAILABLE}) == (UNAVAILABLE, "")
    assert named_by_environment({"OPENAI_BASE_URL": UNAVAILABLE, "OPENAI_API_KEY": "k"}) == (
        UNAVAILABLE,
        "k",
    )
    assert named_by_environment({"OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}) is None
