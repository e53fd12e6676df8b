"""Each framing case comes out as it must: over TCP, in one read and in every cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.cases import each
from tests.support.raw_http import received, reset, speaking
from tests.support.waiting import let_others_run
from tests.unit.upstream.http1.cases import CASES, OK, Case
from tests.unit.upstream.http1.wire import parsed, pool_at, requested

SHORT = [case for case in CASES if len(case.wire) < 1000]


class Backend:
    """Sends a case's bytes at `/case`, and says at `/ok` on which connection it is."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.times_requested = 0
        self.connections = 0

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = b"%d" % self.connections
        while True:
            head, _ = await received(reader)
            if b"/ok" in head.split(b"\r\n", 1)[0]:
                writer.write(OK + b"Content-Length: %d\r\n\r\n%b" % (len(number), number))
                continue
            self.times_requested += 1
            writer.write(self.case.wire)
            await writer.drain()
            if self.case.ending == "fin":
                return
            if self.case.ending == "reset":
                await let_others_run()
                reset(writer)


@asynccontextmanager
async def before(case: Case) -> AsyncIterator[tuple[Backend, str]]:
    backend = Backend(case)
    async with speaking(backend.speak) as url:
        yield backend, url


@each("case", CASES, ids=str)
async def test_a_case_over_tcp_comes_out_as_it_must(case: Case) -> None:
    async with before(case) as (backend, url), pool_at(url) as pool:
        limit = 0.1 if case.outcome == "waits" else 5.0
        try:
            status, body = await requested(pool, url, "/case", limit)
            is_error = False
        except OSError:
            is_error = True
        again = await requested(pool, url, "/ok")

    if case.outcome in {"kept", "closed"}:
        assert not is_error
        assert (status, body) == (case.status, case.body)
    else:
        assert is_error
    assert again == (200, b"1" if case.outcome == "kept" else b"2")
    assert backend.times_requested == 1


@each("case", CASES, ids=str)
def test_a_case_in_one_read_comes_out_as_it_must(case: Case) -> None:
    outcome, status, body = parsed([case.wire], case.ending)

    assert outcome == case.outcome
    if outcome in {"kept", "closed"}:
        assert (status, body) == (case.status, case.body)


@each("case", SHORT, ids=str)
def test_a_case_cut_in_two_anywhere_comes_out_the_same(case: Case) -> None:
    whole = parsed([case.wire], case.ending)
    for place in range(1, len(case.wire)):
        outcome, status, body = parsed([case.wire[:place], case.wire[place:]], case.ending)
        assert outcome == whole[0], place
        if outcome != "fails":
            assert (status, body) == whole[1:]


@each("case", CASES, ids=str)
def test_a_case_byte_by_byte_comes_out_the_same(case: Case) -> None:
    wire = case.wire[:100_000]  # what is larger has failed by then
    outcome, status, body = parsed((wire[at : at + 1] for at in range(len(wire))), case.ending)

    assert outcome == case.outcome
    if outcome in {"kept", "closed"}:
        assert (status, body) == (case.status, case.body)
