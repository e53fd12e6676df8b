"""Resolves what filters name: API keys by their names, and the responses of a chain or of an item.

Lists, figures and open lists compare facts with the result, so all of them decide alike.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.query.conditions import AnyOf, Chain, Condition, Either, Filters, HasItem, Not
from antiphon.storage.operations.facts_where import Statement, begins
from antiphon.storage.operations.finding import responses_of_item
from antiphon.storage.operations.step import Operation, query_composed, query_rows, reads

CHAIN = 200
"""Maximum number of responses of a chain that are found, upwards from the given response."""

MOST_KEYS = 1_000
"""Maximum number of API keys that the beginning of a name finds, in the order of their names."""


@reads("resolve_filters")
def resolve(tenant: str | None, filters: Filters) -> Operation[Filters]:
    """Return the filters with ids in place of names.

    If `tenant` is None, names and ids of all tenants are known.
    """
    if filters.is_resolved:
        return filters
    conditions = yield from _each(tenant, filters.conditions)
    return replace(filters, conditions=conditions, is_resolved=True)


def _each(tenant: str | None, conditions: Sequence[Condition]) -> Operation[tuple[Condition, ...]]:
    found: list[Condition] = []
    for one in conditions:
        found.append((yield from _resolved(tenant, one)))  # noqa: PERF401 - it yields
    return tuple(found)


def _resolved(tenant: str | None, condition: Condition) -> Operation[Condition]:
    match condition:
        case AnyOf("key", values):
            ids: list[str] = []
            for value in values:
                ids += yield from _ids_of_keys(tenant, value)
            return AnyOf("key", tuple(ids))
        case Chain(response_id):
            return AnyOf("id", (yield from _chain(tenant, response_id)))
        case HasItem(item_id):
            search = yield from responses_of_item(tenant, item_id)
            return AnyOf("id", tuple([one.id for one in search.found]))
        case Not(negated):
            return Not((yield from _resolved(tenant, negated)))
        case Either(conditions):
            return _with_ids_together((yield from _each(tenant, conditions)))
        case _:
            return condition


def _with_ids_together(conditions: Sequence[Condition]) -> Condition:
    """Return that one of these conditions holds, with all ids in one, so that an index finds
    them.
    """
    ids: list[str] = []
    others: list[Condition] = []
    for one in conditions:
        match one:
            case AnyOf("id", values):
                ids += values
            case _:
                others.append(one)
    if not ids:
        return Either(conditions)
    by_id = AnyOf("id", tuple(dict.fromkeys(ids)))
    return Either((by_id, *others)) if others else by_id


def _ids_of_keys(tenant: str | None, value: str) -> Operation[list[str]]:
    """Return the ids of the keys with a name, or the value itself, which can be an id."""
    if value in ("", "*"):
        return [value]  # the responses without a key, or with any: not those of keys without a name
    if value.endswith("*"):
        return [value, *(yield from _ids_of_keys_from(tenant, value[:-1]))]
    rows = (
        yield from query_rows("ids_of_all_api_keys", value)
        if tenant is None
        else query_rows("ids_of_api_keys", tenant, value)
    )
    return [row[0] for row in rows] or [value]


def _ids_of_keys_from(tenant: str | None, beginning: str) -> Operation[list[str]]:
    """Return the ids of the keys with names that have this beginning."""
    statement = Statement(tenant)
    statement.where(begins(statement, "name", beginning))
    text = (
        f"SELECT id FROM api_keys WHERE {statement.condition} ORDER BY name, id LIMIT {MOST_KEYS}"  # noqa: S608 - fixed parts
    )
    rows = yield from query_composed(text, tuple(statement.values))
    return [row[0] for row in rows]


def _chain(tenant: str | None, response_id: str) -> Operation[tuple[str, ...]]:
    statement = Statement(None)
    begin = statement.add(response_id)
    own = "" if tenant is None else f" AND facts.tenant = {statement.add(tenant)}"
    rows = yield from query_composed(
        f"""WITH RECURSIVE up (id, parent, step) AS (
            SELECT id, previous_response_id, 1 FROM facts WHERE id = {begin}{own}
            UNION ALL
            SELECT facts.id, facts.previous_response_id, up.step + 1 FROM up JOIN facts ON facts.id = up.parent
            WHERE up.step < {CHAIN}{own}
        )
        SELECT id FROM up""",  # noqa: E501, S608 - fixed parts
        tuple(statement.values),
    )
    return tuple(dict.fromkeys(row[0] for row in rows))
