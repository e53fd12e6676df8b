"""Judges the samples of a soak."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

MOST = 1_000_000
"""Bytes by which memory may grow in an hour."""

WARM_UP = 0.2
"""The part of the samples that does not count: caches fill, and pages are loaded."""

SLOWER = 2.0
"""How much larger the median p99 of the last quarter may be than that of the first."""

FEWEST = 8
"""Samples that can be judged."""

MORE = 5
"""Descriptors and threads that a later sample may have more."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The process at one moment: seconds since the start, bytes, counts, and seconds of p99."""

    at: float
    memory: int
    descriptors: int
    threads: int
    p99: float


def slope(samples: Sequence[Sample]) -> float:
    """Return how many bytes of memory are added in an hour: the median of the slopes between all
    pairs of samples (Theil and Sen), which one high sample does not change.
    """
    pairs = [
        (later.memory - earlier.memory) / (later.at - earlier.at)
        for place, earlier in enumerate(samples)
        for later in samples[place + 1 :]
    ]
    return median(pairs) * 3600 if pairs else 0.0


def problems(samples: Sequence[Sample]) -> list[str]:
    """Return what is wrong after the warm-up, as sentences."""
    counted = samples[int(len(samples) * WARM_UP) :]
    if len(counted) < FEWEST:
        return ["There are too few samples: run it for longer."]
    quarter = max(1, len(counted) // 4)
    first = counted[:quarter]
    last = counted[-quarter:]
    found = []
    if (grown := slope(counted)) > MOST:
        found.append(f"Memory grows by {grown / 1e6:.2f} MB an hour.")
    for name in ("descriptors", "threads"):
        before = max(getattr(one, name) for one in first)
        after = min(getattr(one, name) for one in last)
        if after > before + MORE:
            found.append(f"The process has {after} {name}, and had {before}.")
    before = median(one.p99 for one in first)
    after = median(one.p99 for one in last)
    if after > SLOWER * before:
        found.append(f"The p99 is {after * 1000:.0f} ms, and was {before * 1000:.0f} ms.")
    return found
