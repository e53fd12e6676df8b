"""Processes that share a port tell each other what they have counted."""

import asyncio
from itertools import chain
from pathlib import Path
from socket import AF_UNIX, socket
from tempfile import mkdtemp
from typing import Any

import pytest

from antiphon.errors import log
from antiphon.http_server.workers import Workers, WorkerTopic
from antiphon.telemetry.exposition import exposition
from antiphon.telemetry.kinds import Counter, Family, families
from tests.support.metrics import read


@pytest.fixture
def folder() -> Path:
    return Path(mkdtemp())  # short: a socket's path has some hundred characters at most


def counting(folder: Path, name: str, by: int) -> tuple[Workers, WorkerTopic[list[Family]]]:
    counter = Counter("antiphon_requests", "Requests.", "route")
    counter.add("/x", by=by)
    topic = WorkerTopic("metrics", list[Family], lambda: families([counter], worker=name))
    return Workers(folder, name, topic, log=log), topic


async def test_any_worker_knows_the_counts_of_each(folder: Path) -> None:
    all_three = [counting(folder, str(number), number + 1) for number in range(3)]
    for each, _ in all_three:
        await each.start()
    requested, topic = all_three[1]

    text = "".join(exposition(chain(topic.report(), *await requested.others(topic))))

    assert read(text) == {"antiphon_requests_total{route=/x}": 6}
    assert text.count("# TYPE antiphon_requests_total counter") == 1
    assert all(f'worker="{number}"' in text for number in range(3))
    for each, _ in all_three:
        await each.close()


async def test_a_backend_that_does_not_understand_the_request_is_omitted(folder: Path) -> None:
    (one, _), (other, _) = counting(folder, "0", 1), counting(folder, "1", 1)
    await other.start()

    assert await one.others(WorkerTopic("weather", str, str)) == []
    await other.close()


async def test_one_that_died_is_left_out_and_its_place_is_taken(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, topic = counting(folder, "0", 1)
    await one.start()
    (folder / "1").write_text("a socket that nobody listens on")

    assert await one.others(topic) == []
    assert "Worker 1 does not report" in caplog.text
    successor, _ = counting(folder, "1", 5)
    await successor.start()
    assert [
        sample.value for family in (await one.others(topic))[0] for sample in family.samples
    ] == [5]
    await successor.close()
    await one.close()
    assert left_in(folder) == []


async def test_a_worker_is_queried_only_once_it_listens(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, topic = counting(folder, "0", 1)
    await one.start()
    starting, _ = counting(folder, "1", 1)
    listen = asyncio.start_unix_server

    async def bind_and_listen_later(answer: Any, path: Path) -> asyncio.Server:
        with socket(AF_UNIX) as bound:
            bound.bind(str(path))
            assert await one.others(topic) == []
        return await listen(answer, path)

    monkeypatch.setattr(asyncio, "start_unix_server", bind_and_listen_later)
    await starting.start()

    assert len(await one.others(topic)) == 1
    assert caplog.text == ""
    await starting.close()
    await one.close()


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())
