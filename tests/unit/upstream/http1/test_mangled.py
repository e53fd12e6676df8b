"""Sound responses come out the same in every cut; mangled ones fail, and never give a foreign
answer.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.upstream.http1.connection import MAX_BUFFERED
from tests.support.chance import examples
from tests.support.raw_http import HEAD, chunked
from tests.support.recordings import MISSING, recorded
from tests.support.translate import at_random
from tests.unit.upstream.http1.cases import CASES, OK
from tests.unit.upstream.http1.wire import parsed

SOUND = [case.wire for case in CASES if case.outcome == "kept" and len(case.wire) < 2000]
STREAMS = recorded("*.sse")
PLAIN = recorded("*.json")

fuzzed = examples(400)
bodies = st.lists(st.binary(min_size=1, max_size=40), max_size=8)


def cut(wire: bytes, places: list[int]) -> list[bytes]:
    """The bytes in reads that end at these places; no read is empty."""
    places = sorted({place % (len(wire) + 1) for place in places})
    return [
        wire[start:stop]
        for start, stop in zip([0, *places], [*places, len(wire)], strict=True)
        if start < stop
    ]


@fuzzed
@given(bodies, st.booleans(), st.lists(st.integers(0, 2000), max_size=12))
def test_a_sound_body_arrives_whole_in_every_cut(
    parts: list[bytes], is_chunked: bool, places: list[int]
) -> None:
    body = b"".join(parts)
    length = OK + b"content-length: %d\r\n\r\n" % len(body)
    wire = HEAD + chunked(*parts) + b"0\r\n\r\n" if is_chunked else length + body

    assert parsed(cut(wire, places)) == ("kept", 200, body)


@fuzzed
@given(bodies, st.booleans(), st.integers(0, 2000), st.sampled_from(["fin", "reset"]))
def test_a_body_that_is_cut_short_is_never_whole(
    parts: list[bytes], is_chunked: bool, at: int, ending: str
) -> None:
    body = b"".join(parts)
    length = OK + b"content-length: %d\r\n\r\n" % len(body)
    wire = HEAD + chunked(*parts) + b"0\r\n\r\n" if is_chunked else length + body
    outcome, _, had = parsed([wire[: at % len(wire)]], ending)  # type: ignore[arg-type]

    assert outcome == "fails"
    assert body.startswith(had)


@fuzzed
@given(
    st.sampled_from(SOUND),
    st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 3), st.binary(max_size=6)),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.integers(0, 2000), max_size=6),
)
def test_a_mangled_response_comes_out_the_same_in_every_cut(
    wire: bytes, changes: list[tuple[int, int, bytes]], places: list[int]
) -> None:
    for at, dropped, put in changes:
        place = at % (len(wire) + 1)
        wire = wire[:place] + put + wire[place + dropped :]
    whole = parsed([wire], "fin")
    pieces = parsed(cut(wire, places), "fin")

    assert pieces[0] == whole[0]
    if whole[0] in {"kept", "closed"}:
        assert pieces[1:] == whole[1:]


@fuzzed
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
def test_anything_at_all_fails_or_ends(data: bytes, places: list[int]) -> None:
    outcome, _, body = parsed(cut(data, places), "reset")

    assert outcome == "fails"
    assert len(body) <= len(data) <= MAX_BUFFERED


def splits_of(path: Path) -> list[int]:
    """Where the reads ended when the stream was recorded; none where nobody noted it."""
    splits = path.with_suffix(".splits.json")
    return json.loads(splits.read_text()) if splits.exists() else []


@pytest.mark.wide
@pytest.mark.skipif(not STREAMS, reason=MISSING)
def test_every_recording_arrives_as_it_was_sent_in_its_own_cuts_and_in_any() -> None:
    for path in [*STREAMS, *PLAIN]:
        stated = path.read_bytes()
        chunks = chunked(*cut(stated, splits_of(path)))
        for wire in (
            HEAD + chunks + b"0\r\n\r\n",
            HEAD + chunked(*stated.splitlines(keepends=True)) + b"0\r\n\r\n",
            OK + b"content-length: %d\r\n\r\n" % len(stated) + stated,
        ):
            for parts in (
                [wire],
                [part for part in at_random(path.name)(wire) if part],
                cut(wire, splits_of(path)),
            ):
                assert parsed(parts) == ("kept", 200, stated), path.name
