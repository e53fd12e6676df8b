"""The counter of `make trace`: whose calls it counts."""

from concurrent.futures import ThreadPoolExecutor

from bench.trace.counter import CallCounter
from bench.trace.depth import functions_inside


def called() -> None:
    """Do nothing, so that the call alone is counted."""


def calls_of(counter: CallCounter) -> int:
    """How often `called` was."""
    return counter.take()[__name__, called.__name__]


def test_calls_are_counted_inside_the_block_and_taken_once() -> None:
    counter = CallCounter()
    with counter.counting():
        called()
        called()
    called()
    assert calls_of(counter) == 2
    assert calls_of(counter) == 0


def test_calls_of_other_threads_are_not_counted() -> None:
    counter = CallCounter()
    with ThreadPoolExecutor(1) as threads, counter.counting():
        threads.submit(called).result()
    assert calls_of(counter) == 0


def test_calls_of_threads_that_started_in_the_block_are_counted_while_it_counts() -> None:
    counter = CallCounter()
    with counter.in_threads(), ThreadPoolExecutor(2) as threads:
        threads.submit(called).result()
        with counter.counting():
            called()
            for _ in range(3):
                threads.submit(called).result()
        threads.submit(called).result()
    assert calls_of(counter) == 4


def test_threads_that_start_after_the_block_are_not_counted() -> None:
    counter = CallCounter()
    with counter.in_threads():
        pass
    with ThreadPoolExecutor(1) as threads, counter.counting():
        threads.submit(called).result()
    assert calls_of(counter) == 0


def test_the_functions_of_a_path_are_ours_without_those_of_the_connection() -> None:
    calls = {
        ("antiphon.http_server.cycle", "run"): 1.0,
        ("antiphon.server.exchange", "reply"): 2.0,
        ("antiphon.storage.sqlite.rows", "perform"): 0.0,
        ("asyncio.tasks", "wait"): 1.0,
    }
    assert functions_inside(calls) == {("antiphon.server.exchange", "reply")}
