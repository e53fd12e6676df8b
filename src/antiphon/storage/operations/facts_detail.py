"""One response's facts with those of its chain, and recently changed facts."""

from antiphon.storage.operations.facts import LISTED
from antiphon.storage.operations.facts_names import CHAIN
from antiphon.storage.operations.facts_where import Statement
from antiphon.storage.operations.step import NOW, Composed, Operation, first, reads
from antiphon.storage.records.facts import Facts, FactsFamily

COLUMNS = ", ".join(f"facts.{name}" for name in LISTED)

MOST_CHANGED = 500
"""Maximum number of rows that one query for changes reads."""

SIBLINGS = 20
"""Number of further children of the same parent that are read: the first of them is the one that
the others were forked from.
"""


@reads("find_facts")
def family(tenant: str | None, response_id: str) -> Operation[FactsFamily | None]:
    """Return the facts of a response with its spans and chain, or None if it is unknown.

    If `tenant` is None, find the response of any tenant.
    """
    own = Statement(tenant)
    own.where(f"id = {own.add(response_id)}")
    own.where("(flags & 32) = 0")
    now = own.add((yield NOW))
    rows = yield Composed(
        f"""SELECT {COLUMNS}, spans, EXISTS (
            SELECT 1 FROM responses AS stored
            WHERE stored.id = facts.id AND stored.tenant = facts.tenant
            AND (stored.expires_at IS NULL OR stored.expires_at > {now})
        ) FROM facts WHERE {own.condition}""",  # noqa: S608 - fixed texts; all values are parameters
        tuple(own.values),
    )
    if not rows:
        return None
    *columns, has_content = rows[0]
    facts = Facts(*columns)
    parents = yield _parents(facts)
    children = yield _children(facts.id, facts.tenant, CHAIN)
    siblings: list[Facts] = []
    if facts.previous_response_id:
        same = yield _children(facts.previous_response_id, facts.tenant, SIBLINGS)
        siblings = [one for row in same if (one := Facts(*row)).id != facts.id]
    return FactsFamily(
        facts,
        bool(has_content),
        [Facts(*row) for row in reversed(parents)],
        [Facts(*row) for row in children],
        siblings,
    )


@reads("changed_facts", is_of_all=True)
def changed(behind: int | None) -> Operation[tuple[int, list[Facts]]]:
    """Return the facts of all tenants that changed after the position `behind`, oldest first, and
    the new position.

    If `behind` is None, return only the newest position. Facts that another server writes can
    appear before the returned position: start the next read a little earlier, and skip the facts
    that you have seen.
    """
    if behind is None:
        row = yield from first("newest_facts")
        return (row[0] or 0) if row else 0, []
    text = (
        f"SELECT seq, {COLUMNS} FROM facts WHERE seq > $1 AND (flags & 32) = 0 ORDER BY seq "  # noqa: S608 - fixed texts; all values are parameters
        f"LIMIT {MOST_CHANGED}"
    )
    rows = yield Composed(text, (behind,))
    return (rows[-1][0] if rows else behind), [Facts(*row[1:]) for row in rows]


def _parents(facts: Facts) -> Composed:
    return Composed(
        f"""WITH RECURSIVE up (parent, step) AS (
            SELECT CAST($1 AS TEXT), 1
            UNION ALL
            SELECT facts.previous_response_id, up.step + 1 FROM up JOIN facts ON facts.id = up.parent
            WHERE facts.tenant = $2 AND up.step < {CHAIN}
        )
        SELECT {COLUMNS} FROM up JOIN facts ON facts.id = up.parent
        WHERE facts.tenant = $2 AND (facts.flags & 32) = 0 ORDER BY up.step""",  # noqa: E501, S608 - fixed parts
        (facts.previous_response_id, facts.tenant),
    )


def _children(parent: str, tenant: str, limit: int) -> Composed:
    """Read the children with the index of parents: the tenant is an expression, so its index is not
    used.
    """
    return Composed(
        f"""SELECT {COLUMNS} FROM facts WHERE previous_response_id = $1 AND previous_response_id <> ''
        AND tenant || '' = $2 AND (flags & 32) = 0 ORDER BY began, seq LIMIT {limit}""",  # noqa: E501, S608 - fixed parts
        (parent, tenant),
    )
