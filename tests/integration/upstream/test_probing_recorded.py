"""Answers of real backends, as the judges of probes read them: what is recorded of each is what is
read of it.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.upstream.probing.answers import ProbeAnswer
from antiphon.upstream.probing.interview import post
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.recordings import FOLDER, MISSING

MIXED = {"content-array(thinking)", "n>1"}
"""Notes of answers to which no probe leads: a stream of lists and texts, and several choices."""

THINKING = {"reasoning_content", "reasoning", "thinking"}

pytestmark = pytest.mark.skipif(not (FOLDER / "index.tsv").exists(), reason=MISSING)


def recorded() -> Iterator[tuple[Path, bytes, list[str]]]:
    """Every good answer over Chat: its file, its bytes, and what is noted of it."""
    index = FOLDER / "index.tsv"
    if not index.exists():
        return
    with index.open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            notes = row["notes"].split()
            is_good = (
                row["file"].startswith("chat/") and row["status"] == "200" and notes != ["no-usage"]
            )
            if is_good and MIXED.isdisjoint(notes):
                yield (path := FOLDER / row["file"]), path.read_bytes(), notes


async def read(path: Path, answer: bytes) -> ProbeAnswer:
    stream = {"stream": True} if path.suffix == ".sse" else {}
    return await post(ScriptedBackend([answer]), {"model": "m", **stream}, 5)


async def test_calls_and_thinking_are_read_as_they_were_recorded() -> None:
    count = 0
    for path, stated, notes in recorded():
        answer = await read(path, stated)
        calls = next((int(note[6:]) for note in notes if note.startswith("tools=")), 0)
        assert answer.is_good, path.name
        assert len(answer.calls) == calls, path.name
        assert (answer.thinking == "field") is not THINKING.isdisjoint(notes), path.name
        count += 1
    assert count > 500


async def test_no_recorded_text_is_taken_for_a_call_of_the_tool() -> None:
    found = [path.name for path, stated, _ in recorded() if (await read(path, stated)).text_call]

    assert [
        name for name in found if not name.startswith("mistralrs-")
    ] == []  # that one is a call, in Hermes' form
