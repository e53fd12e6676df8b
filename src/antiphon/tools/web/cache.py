"""Pages that were read lately, so that one is looked through, or read on, without being fetched again."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

MOST = 32 * 1024 * 1024
"""Bytes, about."""
OLDEST = 15 * 60.0
"""Seconds."""


class Cache(Generic[T]):
    """Keeps what was used last, so many bytes of it and for so long."""

    def __init__(
        self, *, most: int = MOST, oldest: float = OLDEST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._oldest = oldest
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, int, T]] = OrderedDict()
        self._size = 0

    def get(self, key: Hashable) -> T | None:
        """Return what is kept, None where nothing is or it is too old."""
        if key not in self._kept:
            return None
        since, _, value = self._kept[key]
        if self._clock() - since > self._oldest:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return value

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keep something of so many bytes."""
        if key in self._kept:
            self._drop(key)
        self._kept[key] = (self._clock(), size, value)
        self._size += size
        while self._size > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        self._size -= self._kept.pop(key)[1]
