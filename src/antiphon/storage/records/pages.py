"""Pages of lists, for every kind of record."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class ListQuery(Struct, frozen=True):
    """Which records to list: up to `limit`, in the order of creation.

    `after` is the id of the record before the page; in a list of versions, the number of one.
    """

    limit: int
    after: str | None = None
    descending: bool = True


class Page(Struct, Generic[T], frozen=True):
    """One page of a list.

    `unknown` is `after` or `before` if the query names an id there that is not in the list; the
    page is then empty.
    """

    data: Sequence[T] = ()
    has_more: bool = False
    unknown: str = ""
