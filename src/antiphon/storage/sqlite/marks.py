"""The parameters of a statement in SQLite's style.

Statements number their parameters, `$1`, `$2`. To SQLite such a parameter has a name and takes a
dictionary, and Python 3.12.0 to 3.12.3 treat `?1` in the same way. A dictionary would be made for
every statement, so numbers become plain `?`, and the values are sorted only where the numbers are
not 1, 2, 3 in this order.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

_NUMBER = re.compile(r"\$(\d+)")

_MOST_TEXTS = 1024
"""Texts to remember: every named query, and the conditions that lists of the console combine."""


class Marked(NamedTuple):
    """A statement with plain parameters."""

    text: str
    sort: Callable[[Sequence[Any]], Sequence[Any]] | None
    """Returns the values in the order of the parameters; None if they have this order already."""


@lru_cache(_MOST_TEXTS)
def marked(text: str) -> Marked:
    """Return a statement with numbered parameters in SQLite's style."""
    places = [int(number) - 1 for number in _NUMBER.findall(text)]
    sort = None if places == list(range(len(places))) else itemgetter(*places)
    return Marked(_NUMBER.sub("?", text), sort)


def bound(text: str, values: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return a statement in SQLite's style, and the values of `$1`, `$2` in the order of its
    parameters.
    """
    plain, sort = marked(text)
    return plain, sort(values) if sort else values
