"""Processes that share a port tell each other what they have counted."""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from antiphon.measures import Counter, Family, families
from antiphon.server.metrics import exposition
from antiphon.server.siblings import Siblings
from tests.support.metrics import read


@pytest.fixture
def folder() -> Path:
    return Path(mkdtemp())  # short: a socket's path has some hundred characters at most


def counting(folder: Path, name: str, by: int) -> Siblings:
    counter = Counter("antiphon_requests", "Requests.", "route")
    counter.add("/x", by=by)

    def count(worker: str) -> list[Family]:
        return families([counter], worker=worker)

    return Siblings(folder, name, count)


async def test_whoever_is_asked_knows_what_each_has_counted(folder: Path) -> None:
    one, two, three = (counting(folder, str(number), number + 1) for number in range(3))
    for each in (one, two, three):
        await each.start()

    text = exposition([*two.own(), *await two.others()])

    assert read(text.decode()) == {"antiphon_requests_total{route=/x}": 6}
    assert text.count(b"# TYPE antiphon_requests_total counter") == 1
    assert all(f'worker="{number}"'.encode() in text for number in range(3))
    for each in (one, two, three):
        await each.close()


async def test_one_that_died_is_left_out_and_its_place_is_taken(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    one = counting(folder, "0", 1)
    await one.start()
    (folder / "1").write_text("a socket that nobody listens on")

    assert await one.others() == []
    assert "Worker 1 does not tell" in caplog.text
    successor = counting(folder, "1", 5)
    await successor.start()
    assert [sample.value for family in await one.others() for sample in family.samples] == [5]
    await successor.close()
    await one.close()
    assert left_in(folder) == []


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())
