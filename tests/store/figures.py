"""Promises about figures, about the chain of a response, and about changed facts."""

import time
from typing import Any

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from antiphon.ids import new_id
from antiphon.query.conditions import Filters
from antiphon.query.response_filters import parse_filters
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.operations import facts_detail, figures
from antiphon.storage.records.facts import SUMMED, Facts
from antiphon.storage.records.figures import Figures, FiguresQuery, bucket_of, others_of, total_of
from antiphon.storage.store import Store
from tests.store.facts import new_facts
from tests.store.making import hold, new_response

LONG_AGO = 7 * 3600
"""Age in seconds from which responses are summed."""


def _ended(tenant: str, began: float, took: int = 40, **fields: Any) -> Facts:
    """Return facts of a response that began then, in seconds, and took this many milliseconds."""
    start = int(began * 1000)
    known: dict[str, Any] = {
        "model": "m",
        "backend": "b",
        "key_id": "k",
        "first": 5,
        "input_tokens": 3,
        "output_tokens": 2,
    }
    return new_facts(tenant=tenant, began=start, ended=start + took, **{**known, **fields})


async def _totals(
    store: Store, tenant: str | None, since: float, line: str = "", *, by: str = ""
) -> list[Figures]:
    filters = parse_filters(line, time.time()) if line else Filters()
    query = FiguresQuery(int(since), int(time.time()) + 60, 3600, by, filters)
    found = await store.read(figures.figures, tenant, query)
    return [
        total_of(list(found.spans.values())),
        *(found.groups[name] for name in sorted(found.groups)),
    ]


async def _sum(store: Store) -> None:
    while await store.write(figures.sum_up):
        pass


async def _count_each_response_once(store: Store) -> None:
    """Figures are the same before and after the sums include a response, and whenever it ended."""
    tenant = new_id("tenant")
    began = time.time() - LONG_AGO
    late = _ended(tenant, began, took=90_000, status="failed", flags=SUMMED, cost=4)
    facts = [
        _ended(tenant, began, cost=3),
        _ended(tenant, began + 1, first=None),
        _ended(tenant, time.time()),
        late,
    ]
    await store.write(
        stored_facts.put_new,
        [*facts, new_facts(tenant=tenant, began=int(began * 1000), status="queued")],
    )
    for moment in ("before", "after"):
        (total,) = await _totals(store, tenant, began - 7200)
        hold(
            total.by_status == {"completed": 3, "failed": 1},
            f"{moment} they are summed: {total.by_status}",
        )
        hold(
            (total.input_tokens, total.output_tokens, total.cost) == (12, 8, 7),
            f"{moment}, of all: {total}",
        )
        hold(
            total.first[bucket_of(5)] == 3 and sum(total.first) == 3,
            f"{moment}, first tokens: {total.first}",
        )
        hold(
            total.took[bucket_of(40)] == 3 and total.took[bucket_of(90_000)] == 1,
            f"{moment}: {total.took}",
        )
        await _sum(store)


async def _count_a_repeated_response_once(store: Store) -> None:
    """Facts that are stored again, because their write was not acknowledged, count once."""
    tenant = new_id("tenant")
    began = time.time() - LONG_AGO
    alone = [_ended(tenant, began, cost=3), _ended(tenant, began, 90_000, cost=4)]
    begun = replace(alone[1], ended=None, status="queued", cost=None)
    saved = _ended(tenant, began, 90_000, flags=SUMMED, cost=5)
    response = replace_fields(new_response(id=saved.id), tenant=tenant, facts=saved)
    await store.write(stored_facts.put_new, [begun])
    for _ in range(2):
        await store.write(stored_facts.put_new, alone)
        await store.save(response)
        await _sum(store)
    (found,) = await _totals(store, tenant, began - 60)
    hold(
        (found.by_status, found.cost) == ({"completed": 3}, 12),
        f"3 responses that cost 12 are {found.by_status}, and cost {found.cost}",
    )


async def _come_with_late_responses(store: Store) -> None:
    """A response that is saved with facts which ended late is in the sums at once."""
    tenant = new_id("tenant")
    began = time.time() - LONG_AGO
    await _sum(store)
    facts = _ended(tenant, began, took=90_000, flags=SUMMED)
    await store.save(replace_fields(new_response(id=facts.id), tenant=tenant, facts=facts))
    (total,) = await _totals(store, tenant, began - 7200)
    hold(total.by_status == {"completed": 1}, f"it is counted as {total.by_status}")


async def _answer_filters(store: Store) -> None:
    """Figures support filters and groups, from sums and from facts; they exclude other tenants."""
    tenant = new_id("tenant")
    began = time.time() - LONG_AGO
    facts = [
        _ended(tenant, at, model=model) for at in (began, time.time()) for model in ("a", "b", "b")
    ]
    await store.write(stored_facts.put_new, [*facts, _ended(new_id("tenant"), began, model="a")])
    await _sum(store)
    (total, a, b) = await _totals(store, tenant, began - 7200, by="model")
    hold(
        (total.responses, a.responses, b.responses) == (6, 2, 4),
        f"by model they are {total}, {a}, {b}",
    )
    for line, count in (
        ("model:a", 2),
        ("model:b status:completed", 4),
        ("first:>3ms", 6),
        ("tool:x", 0),
    ):
        (total,) = await _totals(store, tenant, began - 7200, line)
        hold(total.responses == count, f"of {line} there are {total.responses}")
    (everyone,) = await _totals(store, None, began - 7200)
    hold(everyone.responses >= 7, "figures of all tenants miss some")


async def _come_over_time_by_group(store: Store) -> None:
    """The most expensive groups have figures by span, which with those of the others are all."""
    tenant = new_id("tenant")
    times = (time.time() - LONG_AGO, time.time() - LONG_AGO + 3600, time.time())
    costs = {"cheap": 1, "middle": 5, "dear": 90}
    for at in times:
        facts = [
            _ended(tenant, at, model=model, cost=costs[model], status=status)
            for model in ("cheap", "cheap", "cheap", "middle", "dear")
            for status in ("completed", "failed")
        ]
        await store.write(stored_facts.put_new, facts)
        await _sum(store)
    query = FiguresQuery(int(times[0]) - 7200, int(times[-1]) + 60, 3600, "model", series=2)
    found = await store.read(figures.figures, tenant, query)
    others = others_of(found)
    hold([*found.series] == ["dear", "middle"], f"the series are {[*found.series]}")
    for name, spans in found.series.items():
        visible = [(one.responses, one.cost, one.input_tokens) for one in spans.values()]
        hold(visible == [(2, 2 * costs[name], 6)] * 3, f"{name} has {visible}")
    for moment, total in found.spans.items():
        parts = [spans[moment] for spans in (*found.series.values(), others)]
        for field in ("by_status", "cost", "input_tokens", "output_tokens"):
            hold(
                getattr(total_of(parts), field) == getattr(total, field),
                f"at {moment} the parts have {total_of(parts)}, all have {total}",
            )
    all_of_them = await store.read(figures.figures, tenant, replace(query, series=3))
    hold(others_of(all_of_them) == {}, f"of no others there is {others_of(all_of_them)}")


async def _name_the_largest_groups(store: Store) -> None:
    """If there are more groups than requested, the largest are named, and the rest is one sum."""
    tenant = new_id("tenant")
    began = time.time() - LONG_AGO
    for at in (began, time.time()):
        await store.write(
            stored_facts.put_new, [_ended(tenant, at, key_id=key, cost=1) for key in "abbcddd"]
        )
        await _sum(store)
    query = FiguresQuery(int(began) - 7200, int(time.time()) + 60, 3600, "key", most_groups=2)
    found = await store.read(figures.figures, tenant, query)
    hold(
        {name: one.responses for name, one in found.groups.items()} == {"b": 4, "d": 6},
        f"named are {found.groups}",
    )
    hold(found.rest is not None, "the sum of the others is missing")
    hold(found.rest == found.groups["b"], f"the others have {found.rest}")
    whole = await store.read(figures.figures, tenant, replace(query, most_groups=4))
    hold(
        len(whole.groups) == 4 and whole.rest is None,
        f"of four groups {len(whole.groups)} are named",
    )


async def _reports_what_was_not_read(store: Store) -> None:
    """Figures by a filter that no sum supports say from when on they are complete."""
    tenant = new_id("tenant")
    began = int(time.time()) - 600
    await store.write(stored_facts.put_new, [_ended(tenant, began + at) for at in range(6)])
    query = FiguresQuery(
        began - 60, began + 60, 60, filters=parse_filters("stream:no", 0), most_read=3
    )
    found = await store.read(figures.figures, tenant, query)
    hold(found.partial_since == began + 3, f"they are complete from {found.partial_since} on")
    hold(total_of(list(found.spans.values())).responses == 3, f"they are {found.spans}")


async def _know_their_chain(store: Store) -> None:
    """The facts of a response are returned with those of its parents, the oldest first, and of its
    children.
    """
    tenant = new_id("tenant")
    root = _ended(tenant, time.time())
    middle = _ended(tenant, time.time(), previous_response_id=root.id, spans=b"[6]")
    forks = [_ended(tenant, time.time() + at, previous_response_id=middle.id) for at in (1, 2)]
    await store.write(stored_facts.put_new, [root, middle, *forks])
    for owner in (tenant, None):
        found = await store.read(facts_detail.family, owner, middle.id)
        ids = found and ([one.id for one in found.parents], [one.id for one in found.children])
        hold(found is not None and found.facts == middle, f"it is {found}")
        hold(ids == ([root.id], [one.id for one in forks]), f"its chain is {ids}")
    hold(
        await store.read(facts_detail.family, new_id("tenant"), middle.id) is None,
        "another tenant finds it",
    )


async def _show_what_changed(store: Store) -> None:
    """Facts that were stored or changed after a position are found, in that order."""
    tenant = new_id("tenant")
    first = new_facts(tenant=tenant, status="queued")
    await store.write(stored_facts.put_new, [first])
    place, nothing = await store.read(facts_detail.changed, None)
    hold(not nothing, "without a position there are changes")
    second = _ended(tenant, time.time())
    await store.write(stored_facts.put_new, [second])
    ended = replace(first, status="completed", ended=first.began)
    await store.write(stored_facts.put_new, [ended])
    behind, changed = await store.read(facts_detail.changed, place)
    own = [(one.id, one.status) for one in changed if one.tenant == tenant]
    hold(own == [(second.id, "completed"), (first.id, "completed")], f"changed are {own}")
    hold(behind >= place + 2, "the position did not move")
