"""Stores many plain saves with one statement."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from antiphon.storage.operations.facts import COLUMNS, TEXTS, facts_of, facts_row
from antiphon.storage.operations.figures import late_sums
from antiphon.storage.operations.responses import item_rows, response_row
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.sql import QUERIES

_SAVE = """
WITH new AS (
    INSERT INTO responses (
        id, previous_response_id, created_at, status, body, tenant,
        conversation_id, conversation_end, expires_at, is_stored, is_streamed, item_count, item_bytes
    )
    SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bytea[], $6::text[],
        $7::text[], $8::bigint[], $9::bigint[], $10::integer[], $11::integer[],
        $12::bigint[], $13::bigint[]
    )
    ON CONFLICT (id) DO NOTHING
    RETURNING seq, id
),
placed AS (
    INSERT INTO items (response, position, is_output, id, sealed, body)
    SELECT new.seq, given.position, given.is_output, given.id, given.sealed, given.body
    FROM unnest($14::text[], $15::integer[], $16::integer[], $17::text[], $18::bytea[], $19::bytea[])
        AS given (response, position, is_output, id, sealed, body)
    JOIN new ON new.id = given.response
)
"""  # noqa: E501 - the lines of a text

_END = "SELECT id FROM new"


def _with_facts() -> str:
    """Return the statement for responses with facts.

    If a response already existed, its facts are not stored.
    """
    into, _, rest = QUERIES["put_facts"].partition("VALUES")
    types = ["text" if place in TEXTS else "bigint" for place in range(len(COLUMNS) - 2)] + [
        "bytea"
    ] * 2
    arrays = ", ".join(f"${20 + place}::{one}[]" for place, one in enumerate(types))
    return f"""{_SAVE},
noted AS (
    {into} SELECT given.* FROM unnest({arrays}) AS given ({", ".join(COLUMNS)}) JOIN new ON new.id = given.id
    {rest[rest.index("ON CONFLICT") :]}
)
{_END}
"""  # noqa: E501, S608 - made of constants alone


_SAVE_WITH_FACTS = _with_facts()


async def save_together(connection: Any, responses: Sequence[StoredResponse]) -> set[str]:
    """Insert responses with distinct ids; return the ids that were new.

    Existing responses are unchanged.
    """
    columns = list(zip(*map(response_row, responses), strict=True))
    items = [(response.id, *row[1:]) for response in responses for row in item_rows(0, response)]
    item_columns = list(zip(*items, strict=True)) if items else [()] * 6
    query = _SAVE + _END
    values = list(map(list, chain(columns, item_columns)))
    if noted := facts_of(responses):
        query = _SAVE_WITH_FACTS
        values += map(list, zip(*map(facts_row, noted), strict=True))
    rows = await connection.fetch(query, *values)
    new = {row[0] for row in rows}
    for text, response_id in late_sums([one for one in noted if one.id in new]):
        await connection.execute(text, response_id)
    return new
