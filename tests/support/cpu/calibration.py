"""How fast this machine is at present, next to the one that the budgets were measured on.

A loop of fixed work runs in short slices between the tests, so that it meets the same neighbours and the same Python.
"""

import gc
import json
import multiprocessing
import os
import time

REFERENCE = 5400.0
"""Rounds in a CPU second on the reference: two cores of a cloud machine, Python 3.11.2 of Debian 12, nothing beside."""

SLICE = 0.02
"""CPU seconds of one slice."""

EVERY = 2.0
"""CPU seconds of tests between two slices."""


class Calibration:
    """Counts rounds of work; `factor` says how many times slower than the reference this machine is."""

    def __init__(self) -> None:
        self.rounds = 0
        self.seconds = 0.0

    def run(self, seconds: float = SLICE) -> None:
        """Work for so many CPU seconds."""
        was_enabled = gc.isenabled()
        gc.disable()
        begun = time.process_time()
        while time.process_time() - begun < seconds:
            _work()
            self.rounds += 1
        self.seconds += time.process_time() - begun
        if was_enabled:
            gc.enable()


def factor(rounds: int, seconds: float) -> float:
    """How many times slower than the reference a machine is that does so many rounds in so many CPU seconds."""
    return REFERENCE * seconds / rounds if rounds else 1.0


class _Word:
    def __init__(self, text: str) -> None:
        self.text = text

    def length(self) -> int:
        return len(self.text)


_DOCUMENT = {"items": [{"id": f"item_{number}", "text": "some words " * 3, "at": number} for number in range(20)]}


def _work() -> int:
    """What tests do: objects, dictionaries, strings, calls, and a little C."""
    text = json.dumps(_DOCUMENT)
    words = [_Word(word) for word in text.split()]
    by_length: dict[int, list[str]] = {}
    for word in words:
        by_length.setdefault(word.length(), []).append(word.text.strip('"'))
    total = len(json.loads(text)["items"])
    for length, group in sorted(by_length.items()):
        total += length * len({*group}) + len(",".join(group))
    for number in range(2000):
        total += number * length & 7
    return total


def _rounds(seconds: float) -> int:
    """How often the work is done in so many seconds of the clock."""
    rounds, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        _work()
        rounds += 1
    return rounds


def of_all_cores(seconds: float = 0.5) -> float:
    """How many times slower than the reference all cores together are, by the clock: what else they do counts."""
    cores = os.cpu_count() or 1
    with multiprocessing.get_context("fork").Pool(cores) as pool:
        rounds = sum(pool.map(_rounds, [seconds] * cores, chunksize=1))
    return factor(rounds, seconds * cores)


if __name__ == "__main__":
    print(round(max(1.0, of_all_cores()) * 100))
