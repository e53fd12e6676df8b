"""Lists of facts by filters: each finds what a naive look at all rows finds, in both databases."""

from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.query import matching
from antiphon.query.conditions import (
    AnyOf,
    Between,
    Chain,
    Condition,
    Either,
    Filters,
    Flag,
    Not,
    Tag,
    Word,
)
from antiphon.query.filter_values import STATUSES
from antiphon.query.response_filters import SORTS, parse_filters
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys, facts_names, facts_page, figures
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.records.facts import FLAGS, Facts, FactsQuery, pair_of
from antiphon.storage.records.figures import FiguresQuery, total_of
from antiphon.storage.records.tenants import ApiKey
from antiphon.storage.store import Store
from tests.store.facts import new_facts
from tests.support.chance import examples

NAMES = ["a", "ab", "Abc", "b_%", "", "*"]
TEXT_FIELDS = {
    "model": "model",
    "served": "served_model",
    "backend": "backend",
    "conversation": "conversation_id",
    "error": "error",
    "key": "key_id",
    "status": "status",
}
KEYS = {"1": "a", "2": "Abc", "3": "a key", "4": ""}
"""The names of the API keys, by the last characters of their ids."""
WORDS = ["Light", "HOUSE", "the light_house", "%", ""]
PAIRS = [("team", "billing"), ("team", '","x'), ('a"', "]["), ("é", "ü")]


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


rows = st.builds(
    lambda **fields: fields,
    began=st.integers(1, 6),
    took=st.none() | st.integers(0, 3),
    status=st.sampled_from(STATUSES),
    model=st.sampled_from(NAMES),
    served_model=st.sampled_from(NAMES),
    backend=st.sampled_from(NAMES),
    conversation_id=st.sampled_from(NAMES),
    key_id=st.sampled_from([*NAMES, *KEYS]),
    error=st.sampled_from(NAMES),
    flags=st.integers(0, 31),
    tools=st.sampled_from(["", " mcp a.b ", " function ab a "]),
    first=st.none() | st.integers(0, 3),
    input_tokens=st.integers(0, 2),
    output_tokens=st.integers(0, 2),
    cost=st.none() | st.integers(0, 3),
    tags=st.lists(st.sampled_from(PAIRS), max_size=2).map(
        lambda pairs: "".join(pair_of(*pair) for pair in pairs)
    ),
    input=st.sampled_from(WORDS),
    output=st.sampled_from(WORDS),
    parent=st.none() | st.integers(0, 3),
)
texts = st.lists(st.sampled_from([*NAMES[:4], "a*", "A*", "b_*", "*"]), min_size=1, max_size=2)
limits = st.none() | st.integers(0, 3)
alone: list[st.SearchStrategy[Condition]] = [
    *(
        st.builds(AnyOf, st.just(name), texts)
        for name in TEXT_FIELDS
        if name not in {"key", "status"}
    ),
    st.builds(
        AnyOf,
        st.just("key"),
        st.lists(
            st.sampled_from([*NAMES, "a key", "a*", "A*", "a k*", "b_*", "x_*"]),
            min_size=1,
            max_size=2,
        ),
    ),
    st.builds(
        AnyOf, st.just("status"), st.lists(st.sampled_from(STATUSES), min_size=1, max_size=2)
    ),
    st.builds(
        AnyOf,
        st.just("tool"),
        st.lists(
            st.sampled_from(["mcp", "a.b", "ab", "a", "b", "", "*", "a*", "A*", "b*", "a.b*"]),
            min_size=1,
            max_size=2,
        ),
    ),
    *(
        st.builds(Between, st.just(name), limits, limits).filter(
            lambda one: (one.low, one.high) != (None, None)
        )
        for name in ("cost", "first", "took", "tokens")
    ),
    st.sampled_from(["light", "house", "the light", "_", "%"]).map(Word),
    *(st.builds(Flag, st.just(name), st.booleans()) for name in FLAGS),
    st.sampled_from(PAIRS).map(lambda pair: Tag(*pair)),
    st.integers(2, 9).map(lambda number: Chain(str(number))),
]
together = st.recursive(
    st.one_of(alone),
    lambda inner: inner.map(Not) | st.lists(inner, min_size=1, max_size=3).map(Either),
    max_leaves=4,
)
filters = st.tuples(
    *(one.map(lambda condition: Filters([condition])) for one in alone),
    *(one.map(lambda condition: Filters([Not(condition)])) for one in alone),
    st.builds(
        Filters,
        st.lists(together, max_size=2),
        since=st.none() | st.integers(0, 6),
        until=st.none() | st.integers(0, 7),
        sort=st.sampled_from(SORTS),
    ),
)
"""Each condition alone, also negated, and some together."""


def new_key(tenant: str, name: str, id_: str = "") -> ApiKey:
    return ApiKey(id_ or new_id("key"), tenant, name, new_id("d").encode(), "…abcd", 1)


def is_text(value: str, wanted: str) -> bool:
    return value.startswith(wanted[:-1]) if wanted.endswith("*") else value == wanted


def has_key(one: Facts, wanted: str) -> bool:
    """Whether the key has this name, or this id if no key has the name."""
    if "" in (one.key_id, wanted):
        return one.key_id == wanted
    name = KEYS.get(one.key_id[-1], "")
    if wanted.endswith("*"):
        return is_text(one.key_id, wanted) or is_text(name, wanted)
    return name == wanted if wanted in KEYS.values() else one.key_id == wanted


def chain_of(facts: Sequence[Facts], last: str) -> set[str]:
    parents = {one.id: one.previous_response_id for one in facts}
    found = set[str]()
    while last in parents and last not in found:
        found.add(last)
        last = parents[last]
    return found


def matches(one: Facts, condition: Condition, all_: Sequence[Facts]) -> bool:
    match condition:
        case AnyOf("tool", values):
            called = one.tools.split() or [""]
            return any(
                (name != "" or "" in values) and any(is_text(name, wanted) for wanted in values)
                for name in called
            )
        case AnyOf("key", values):
            return any(has_key(one, wanted) for wanted in values)
        case AnyOf(field, values):
            value = getattr(one, TEXT_FIELDS[field])
            return any(is_text(value, wanted) for wanted in values)
        case Between(field, low, high):
            number = number_of(one, field)
            return (
                number is not None
                and (low is None or low <= number)
                and (high is None or number <= high)
            )
        case Flag(field, value):
            return bool(one.flags & FLAGS[field]) is value
        case Tag(name, value):
            return pair_of(name, value) in one.tags
        case Word(text):
            return text in f"{one.input} {one.output}".lower()
        case Chain(response_id):
            return one.id in chain_of(all_, response_id)
        case Not(negated):
            return not matches(one, negated, all_)
        case Either(several):
            return any(matches(one, each, all_) for each in several)
    raise AssertionError(condition)


def number_of(one: Facts, field: str) -> int | None:
    return {
        "cost": one.cost,
        "first": one.first,
        "took": None if one.ended is None else one.ended - one.began,
        "tokens": one.input_tokens + one.output_tokens,
    }[field]


FIRST = {"slowest": "took", "dearest": "cost", "tokens": "tokens"}


def place_of(one: Facts, sort: str) -> tuple[int, int]:
    """The number by which a list is sorted, which counts least if it is unknown, then the time."""
    number = number_of(one, FIRST[sort]) if sort in FIRST else 0
    return -1 if number is None else number, one.began


def found_by(filters: Filters, facts: Sequence[Facts]) -> list[str]:
    """The first of the order first, of rows in the order in which they were kept."""
    order = sorted(
        enumerate(facts),
        key=lambda pair: (place_of(pair[1], filters.sort), pair[0]),
        reverse=True,
    )
    return [
        one.id
        for _, one in order
        if all(matches(one, condition, facts) for condition in filters.conditions)
        and (filters.since is None or one.began >= filters.since)
        and (filters.until is None or one.began < filters.until)
    ]


async def all_pages(store: Store, tenant: str, query: FactsQuery) -> list[str]:
    found: list[str] = []
    while True:
        page = await store.read(facts_page.page, tenant, query)
        found += [one.id for one in page.facts]
        after = page.read_to or (page.facts[-1].id if page.has_more else None)
        assert len(page.facts) <= query.limit and bool(after) >= page.has_more
        if after is None:
            return found
        query = replace(query, after=after)


@pytest.mark.wide
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(rows, min_size=6, max_size=9),
    filters,
    st.integers(1, 4),
    st.integers(2, 9),
    st.booleans(),
)
async def test_a_list_finds_the_same_as_a_scan_of_all_rows(
    store: Store,
    drawn: list[dict[str, object]],
    filters: Sequence[Filters],
    limit: int,
    most_read: int,
    down: bool,
) -> None:
    tenant = new_id("tenant")
    run = new_id("x")
    for end, name in KEYS.items():
        await store.write(api_keys.put, new_key(tenant, name, f"{run}{end}"))
    facts = []
    for number, row in enumerate(drawn):
        fields = dict(row)
        took = fields.pop("took")
        parent = fields.pop("parent")
        fields["ended"] = None if took is None else fields["began"] + took  # type: ignore[operator]
        if fields["key_id"] in KEYS:
            fields["key_id"] = f"{run}{fields['key_id']}"
        fields["previous_response_id"] = "" if parent is None else f"{run}{parent}"
        facts.append(new_facts(f"{run}{number}", tenant, **fields))
    await store.write(stored_facts.put_new, facts)
    for one in filters:
        wanted = replace(one, conditions=[of_this_run(each, run) for each in one.conditions])
        expected = found_by(wanted, facts)
        resolved = await store.read(facts_names.resolve, tenant, wanted)
        assert {one.id for one in facts if matching.matches(one, resolved)} == set(expected), wanted
        total = await store.read(
            figures.figures, tenant, FiguresQuery(0, 60, 60, filters=replace(wanted, since=None))
        )
        ended = {one.id for one in facts if one.ended is not None}
        if wanted.since is None and wanted.until is None:
            count = total_of(list(total.spans.values())).responses
            assert count == len(ended.intersection(expected)), wanted
        most = most_read if wanted.sort == "newest" else 1_000
        query = FactsQuery(limit, descending=down, filters=wanted, most_read=most)
        assert await all_pages(store, tenant, query) == (expected if down else expected[::-1]), (
            wanted
        )


def of_this_run(condition: Condition, run: str) -> Condition:
    """The condition with the ids of the rows of this run."""
    match condition:
        case Chain(response_id):
            return Chain(run + response_id)
        case Not(negated):
            return Not(of_this_run(negated, run))
        case Either(several):
            return Either([of_this_run(one, run) for one in several])
        case _:
            return condition


async def test_a_key_is_found_by_its_name(store: Store) -> None:
    tenant = new_id("tenant")
    key = new_key(tenant, "build")
    await store.write(api_keys.put, key)
    mine = new_facts(tenant=tenant, key_id=key.id)
    other = new_facts(tenant=tenant, key_id="key_other")
    await store.write(stored_facts.put_new, [mine, other])
    for line, expected in (
        ("key:build", [mine.id]),
        ("key:bui*", [mine.id]),
        (f"key:bui*,{other.key_id[:5]}*", [mine.id, other.id]),
        ("key:UI*", []),
        (f"key:{other.key_id}", [other.id]),
        ("key:none", []),
    ):
        page = await store.read(
            facts_page.page, tenant, FactsQuery(9, filters=parse_filters(line, 0))
        )
        assert {one.id for one in page.facts} == {*expected}


async def test_the_beginning_of_a_name_finds_keys_of_the_same_tenant(store: Store) -> None:
    mine, other = new_id("tenant"), new_id("tenant")
    name = new_id("team")
    keys = [new_key(tenant, f"{name} build") for tenant in (mine, other)]
    for key in keys:
        await store.write(api_keys.put, key)
    filters = parse_filters(f'key:"{name} b*"', 0)
    for tenant, known in ((mine, keys[:1]), (None, keys)):
        found = await store.read(facts_names.resolve, tenant, filters)
        assert [*found.conditions] == [
            AnyOf("key", (f"{name} b*", *sorted([one.id for one in known])))
        ]


async def test_tools_are_found_by_their_names(store: Store) -> None:
    tenant = new_id("tenant")
    called = new_facts(tenant=tenant, tools=" mcp tracker.close_issue ")
    none = new_facts(tenant=tenant)
    await store.write(stored_facts.put_new, [called, none])
    for line, expected in (
        ('tool:"tracker.close issue"', [called.id]),
        ('tool:"tracker.close i*"', [called.id]),
        ("tool:issue,track*", [called.id]),
        ('tool:"mcp tracker.close_issue"', []),
        ('tool:""', [none.id]),
    ):
        page = await store.read(
            facts_page.page, tenant, FactsQuery(9, filters=parse_filters(line, 0))
        )
        assert [one.id for one in page.facts] == expected


async def test_no_key_is_not_a_key_without_a_name(store: Store) -> None:
    tenant = new_id("tenant")
    unnamed = new_key(tenant, "")
    await store.write(api_keys.put, unnamed)
    facts = [new_facts(tenant=tenant, key_id=one) for one in (unnamed.id, "")]
    await store.write(stored_facts.put_new, facts)
    for line, expected in (('key:""', facts[1:]), ('-key:""', facts[:1]), ("key:*", facts[:1])):
        page = await store.read(
            facts_page.page, tenant, FactsQuery(9, filters=parse_filters(line, 0))
        )
        assert {one.id for one in page.facts} == {one.id for one in expected}


async def test_a_list_reports_how_far_it_read(store: Store) -> None:
    tenant = new_id("tenant")
    facts = [
        new_facts(tenant=tenant, began=began, backend="b" if began == 1 else "a")
        for began in range(1, 11)
    ]
    await store.write(stored_facts.put_new, facts)
    wanted = parse_filters("backend:b", 0)
    first = await store.read(facts_page.page, tenant, FactsQuery(9, filters=wanted, most_read=6))
    assert (first.facts, first.has_more, first.read_to) == ([], False, facts[4].id)
    rest = await store.read(
        facts_page.page, tenant, FactsQuery(9, first.read_to, filters=wanted, most_read=6)
    )
    assert ([one.id for one in rest.facts], rest.read_to) == ([facts[0].id], "")


@pytest.mark.parametrize(
    "line",
    ["zebra", "backend:a*,b*,c*,d* tool:e,f metadata.g:h served:i", "model:1,2,3,4,5,6,7,8"],
)
async def test_a_list_with_many_comparisons_reads_fewer_rows(store: Store, line: str) -> None:
    tenant = new_id("tenant")
    created = [new_facts(tenant=tenant, began=number, ended=number) for number in range(20, 0, -1)]
    await store.write(stored_facts.put_new, created)
    found = await store.read(
        facts_page.page, tenant, FactsQuery(9, filters=parse_filters(line, 0), most_read=16)
    )
    assert (found.facts, found.read_to) == ([], created[7].id)


async def test_figures_with_many_comparisons_are_complete_since_later(store: Store) -> None:
    tenant = new_id("tenant")
    await store.write(
        stored_facts.put_new,
        [new_facts(tenant=tenant, began=n * 1000, ended=n * 1000) for n in range(1, 21)],
    )
    query = FiguresQuery(0, 60, 60, filters=parse_filters("zebra", 0), most_read=16)
    assert (await store.read(figures.figures, tenant, query)).partial_since == 13


async def test_a_filter_of_one_tenant_is_exact_among_all(store: Store) -> None:
    mine, other = new_id("tenant"), new_id("tenant")
    facts = [new_facts(tenant=one, began=n, model="m") for one in (mine, other) for n in (1, 2)]
    await store.write(stored_facts.put_new, facts)
    for line in (f"tenant:{mine}", f"tenant:{mine} model:m", f"tenant:{mine[:-1]}*"):
        query = FactsQuery(9, filters=parse_filters(line, 0))
        found = await store.read(facts_page.page, None, query)
        assert [one.id for one in found.facts] == [facts[1].id, facts[0].id]
        assert (await store.read(facts_page.page, other, query)).facts == []


@pytest.mark.parametrize("line", ["tenant:zzz*", "tenant:zzz", "tenant:zzz,yyy", "tenant:*"])
async def test_a_filter_of_other_tenants_reads_a_limited_number_of_rows(
    store: Store, line: str
) -> None:
    tenant = new_id("tenant")
    facts = [new_facts(tenant=tenant, began=n) for n in range(1, 11)]
    await store.write(stored_facts.put_new, facts)
    query = FactsQuery(9, filters=parse_filters(line, 0), most_read=6)
    found = await store.read(facts_page.page, tenant, query)
    assert found.read_to == facts[4].id


async def test_an_id_of_another_tenant_finds_nothing(store: Store) -> None:
    mine, other = new_id("tenant"), new_id("tenant")
    facts = new_facts(tenant=mine)
    await store.write(stored_facts.put_new, [facts])
    for line in (facts.id, f"id:{facts.id}", f"chain:{facts.id}", f"req_{facts.id[5:]}"):
        query = FactsQuery(9, filters=parse_filters(line, 0))
        assert (await store.read(facts_page.page, other, query)).facts == []
        for tenant in (mine, None):
            found = await store.read(facts_page.page, tenant, query)
            assert [one.id for one in found.facts] == [facts.id]


@pytest.mark.parametrize("value", ["resp_%", "resp_1' OR 'a'='a", "resp_*'", 'x";--', "_" * 4_000])
async def test_an_id_is_compared_as_text(store: Store, value: str) -> None:
    tenant = new_id("tenant")
    await store.write(stored_facts.put_new, [new_facts(tenant=tenant)])
    value = value.replace('"', "")
    query = FactsQuery(9, filters=parse_filters(f'id:"{value}"', 0))
    assert (await store.read(facts_page.page, tenant, query)).facts == []


@pytest.mark.parametrize("sort", ["slowest", "dearest", "tokens"])
async def test_a_sorted_list_is_paged_while_responses_arrive(store: Store, sort: str) -> None:
    tenant = new_id("tenant")

    def created(value: int) -> Facts:
        return new_facts(tenant=tenant, began=9, ended=9 + value, cost=value, input_tokens=value)

    facts = [created(value) for value in (1, 4, 2, 3)]
    await store.write(stored_facts.put_new, facts)
    query = FactsQuery(2, filters=parse_filters(f"sort:{sort}", 0), most_read=4)
    first = await store.read(facts_page.page, tenant, query)
    await store.write(stored_facts.put_new, [created(5), created(0)])
    rest = await store.read(facts_page.page, tenant, replace(query, after=first.facts[-1].id))

    assert [one.cost for one in first.facts] == [4, 3] and first.has_more
    assert [one.cost for one in rest.facts] == [2, 1] and rest.has_more
    last = await store.read(facts_page.page, tenant, replace(query, after=rest.facts[-1].id))
    assert ([one.cost for one in last.facts], last.has_more) == ([0], False)


async def test_too_many_responses_are_not_sorted(store: Store) -> None:
    tenant = new_id("tenant")
    facts = [new_facts(tenant=tenant, began=n * 1_000, cost=n) for n in range(1, 11)]
    await store.write(stored_facts.put_new, facts)
    query = FactsQuery(9, filters=parse_filters("sort:dearest", 0), most_read=4)
    found = await store.read(facts_page.page, tenant, query)
    assert (found.facts, found.sortable_since) == ((), 7_000)

    since = replace(query.filters, since=found.sortable_since)
    found = await store.read(facts_page.page, tenant, replace(query, filters=since))
    assert [one.cost for one in found.facts] == [10, 9, 8, 7]


async def test_figures_of_one_response_are_exact(store: Store) -> None:
    tenant = new_id("tenant")
    facts = [new_facts(tenant=tenant, began=n * 1000, ended=n * 1000) for n in range(1, 21)]
    await store.write(stored_facts.put_new, facts)
    query = FiguresQuery(0, 60, 60, filters=parse_filters(facts[0].id, 0), most_read=4)
    found = await store.read(figures.figures, tenant, query)
    assert (found.partial_since, found.spans[0].responses) == (None, 1)
