"""The order of what waits, so that no owner of many things delays the others."""

from collections.abc import Callable, Hashable, Iterable
from itertools import zip_longest
from typing import TypeVar

T = TypeVar("T")


def in_turns(things: Iterable[T], owner: Callable[[T], Hashable]) -> list[T]:
    """Return the first thing of every owner, then the second of every owner, and so on."""
    by_owner: dict[Hashable, list[T]] = {}
    for thing in things:
        by_owner.setdefault(owner(thing), []).append(thing)
    turns = zip_longest(*by_owner.values())
    return [thing for turn in turns for thing in turn if thing is not None]
