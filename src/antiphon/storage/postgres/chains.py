"""Long chains: walked up once, and then counted by their rows, which costs a quarter of another walk.

A row's number is never used again, and a response that is saved anew gets another one. So a chain is whole as long as
all rows that were found on the way up are still there. Replicas need not hear of each other's deletions for that.
"""

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from antiphon.storage.records import ChainExtent

SHORT = 64
"""Responses of a chain that is walked up each time."""

MOST_CHAINS = 20_000
"""Responses of which the rows above are known."""

MOST_ROWS = 1_000_000
"""Rows that are known, of eight bytes each."""

_LIVING = "tenant = $2 AND (expires_at IS NULL OR expires_at > $3)"

# UNION rather than UNION ALL, so a circle ends the walk.
_WALK = f"""
WITH RECURSIVE chain (seq, parent, conversation, is_first, item_count, item_bytes) AS (
    SELECT seq, previous_response_id, conversation_id, true, item_count, item_bytes
    FROM responses WHERE id = $1 AND {_LIVING}
    UNION
    SELECT
        responses.seq, responses.previous_response_id, responses.conversation_id, false,
        responses.item_count, responses.item_bytes
    FROM chain JOIN responses ON responses.id = chain.parent WHERE {_LIVING}
)
SELECT seq, parent, conversation, is_first, item_count, item_bytes FROM chain LIMIT $4
"""  # noqa: S608, constants alone

_CHECK = f"""
SELECT seq, previous_response_id, conversation_id,
    (SELECT count(*) FROM responses WHERE seq = ANY($4::bigint[]) AND {_LIVING}), item_count, item_bytes
FROM responses WHERE id = $1 AND {_LIVING}
"""  # noqa: S608, constants alone


class _Rows(NamedTuple):
    """The first rows of a list that the responses of a chain share: it grows at its end.

    `items` and `size` are what all these rows have of items and their bytes, `above` what all but the last have.
    """

    numbers: "array[int]"
    length: int
    items: int
    size: int
    above: tuple[int, int] = (0, 0)


class LongChains:
    """The rows of the chains that were measured lately. All are forgotten where they are too many."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Rows] = {}
        self._rows = 0

    async def measure(
        self, connection: Any, tenant: str, response_id: str, parent_id: str | None, now: int, most: int
    ) -> ChainExtent | None:
        """Return the extent of a chain that is whole and has at most `most` responses; None for any other.

        None too for one that began in a conversation.
        """
        above = self._above(tenant, response_id, parent_id)
        if above is not None and above.length < most:
            numbers = above.numbers[: above.length]
            row = await connection.fetchrow(_CHECK, response_id, tenant, now, numbers)
            if row is not None and (row[1], row[2], row[3]) == (parent_id, None, above.length):
                return self._remember((tenant, response_id), above, row[0], row[4], row[5])
        return self._taken((tenant, response_id), await connection.fetch(_WALK, response_id, tenant, now, most))

    def _above(self, tenant: str, response_id: str, parent_id: str | None) -> _Rows | None:
        """Return the known rows above a response."""
        own = self._known.get((tenant, response_id))
        if own is not None:
            return _Rows(own.numbers, own.length - 1, *own.above)
        return self._known.get((tenant, parent_id)) if parent_id is not None else None

    def _taken(self, key: tuple[str, str], rows: Sequence[Any]) -> ChainExtent | None:
        """Return the extent of a chain of these rows, and remember them if it is long.

        None without a head, and where that was made in a conversation.
        """
        if all(row[1] is not None for row in rows):
            return None
        if any(row[2] is not None for row in rows):
            return None
        ((number, items, size),) = [(row[0], row[4], row[5]) for row in rows if row[3]]
        above = [row for row in rows if not row[3]]
        items_above, size_above = sum(row[4] for row in above), sum(row[5] for row in above)
        if len(rows) <= SHORT:
            return ChainExtent(len(rows), False, items_above + items, size_above + size, True)
        numbers = array("q", [row[0] for row in above])
        self._rows += len(numbers)
        return self._remember(key, _Rows(numbers, len(numbers), items_above, size_above), number, items, size)

    def _remember(self, key: tuple[str, str], above: _Rows, number: int, items: int, size: int) -> ChainExtent:
        """Remember the rows of a response that follows those above it; return its extent."""
        numbers, length = above.numbers, above.length
        if length == len(numbers):
            numbers.append(number)
            self._rows += 1
        elif numbers[length] != number:  # another response follows the same one
            numbers = numbers[:length]
            numbers.append(number)
            self._rows += length + 1
        if self._rows > MOST_ROWS or len(self._known) >= MOST_CHAINS:
            self._known.clear()
            self._rows = length + 1
        all_items, all_size = above.items + items, above.size + size
        self._known[key] = _Rows(numbers, length + 1, all_items, all_size, (above.items, above.size))
        return ChainExtent(length + 1, False, all_items, all_size, True)
