"""The thread that computes the terms of chunks: one for all callers, from the first use until it is
closed.
"""

import asyncio
import threading
from collections.abc import Iterator

from antiphon.search.terms import terms_of
from antiphon.storage.operations.chunk_parts import BYTES, MOST_COST
from antiphon.storage.terms import TermThread
from tests.support.waiting import until

TEXT = "A sentence like any other."


async def numbers(thread: TermThread, used: set[threading.Thread]) -> list[list[int]]:
    """Compute the terms of three chunks that are a part each; return their numbers, and add the
    threads to `used`.
    """

    def chunks() -> Iterator[tuple[int, str, int]]:
        for number in range(3):
            used.add(threading.current_thread())
            yield number, TEXT, BYTES * MOST_COST

    parts = [part async for part in thread.parts(chunks())]
    assert all(list(terms) == terms_of(TEXT) for part in parts for _, terms in part)
    return [[number for number, _ in part] for part in parts]


async def test_all_callers_share_one_thread_which_ends_when_it_is_closed() -> None:
    thread = TermThread()
    used = set[threading.Thread]()
    assert await asyncio.gather(*(numbers(thread, used) for _ in range(2))) == [[[0], [1], [2]]] * 2
    (one,) = used
    assert one.name.startswith("antiphon-terms")
    thread.close()
    await until(lambda: not one.is_alive())


async def test_a_thread_that_was_not_used_or_is_closed_can_be_closed_and_used_again() -> None:
    thread = TermThread()
    used = set[threading.Thread]()
    for times in range(3):
        thread.close()
        await until(lambda: not any(one.is_alive() for one in used))
        assert len(used) == times
        assert await numbers(thread, used) == [[0], [1], [2]]
    thread.close()
