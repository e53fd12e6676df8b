"""Lists of facts by filters: each finds what a naive look at all rows finds, in both databases."""

from collections.abc import AsyncIterator, Callable, Sequence
from operator import eq, ge, gt, le, lt

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.query import matching
from antiphon.query.response_filters import (
    STATUSES,
    AnyOf,
    Chain,
    Compare,
    Condition,
    Filters,
    Flag,
    Tag,
    parse_filters,
)
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys, facts_page, figures
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.records.facts import FLAGS, Facts, FactsQuery, pair_of
from antiphon.storage.records.figures import FiguresQuery
from antiphon.storage.records.tenants import ApiKey
from antiphon.storage.store import Store
from tests.store.facts import new_facts
from tests.support.chance import examples

OPERATORS: dict[str, Callable[[int, int], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le, "=": eq}

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
    key_id=st.sampled_from(NAMES),
    error=st.sampled_from(NAMES),
    flags=st.integers(0, 31),
    tools=st.sampled_from(["", " mcp a.b ", " function ab a "]),
    first=st.none() | st.integers(0, 3),
    input_tokens=st.integers(0, 2),
    output_tokens=st.integers(0, 2),
    tags=st.lists(st.sampled_from(PAIRS), max_size=2).map(
        lambda pairs: "".join(pair_of(*pair) for pair in pairs)
    ),
    input=st.sampled_from(WORDS),
    output=st.sampled_from(WORDS),
    parent=st.none() | st.integers(0, 3),
)
texts = st.lists(st.sampled_from([*NAMES[:4], "a*", "A*", "b_*", "*"]), min_size=1, max_size=2)
numbers = st.sampled_from([*OPERATORS]), st.integers(0, 3)
conditions: list[st.SearchStrategy[Condition]] = [
    *(st.builds(AnyOf, st.just(name), texts) for name in TEXT_FIELDS if name != "status"),
    st.builds(
        AnyOf, st.just("status"), st.lists(st.sampled_from(STATUSES), min_size=1, max_size=2)
    ),
    st.builds(
        AnyOf,
        st.just("tool"),
        st.lists(st.sampled_from(["mcp", "a.b", "ab", "a", "b"]), min_size=1, max_size=2),
    ),
    *(st.builds(Compare, st.just(name), *numbers) for name in ("first", "took", "tokens")),
    *(st.builds(Flag, st.just(name), st.booleans()) for name in FLAGS),
    st.sampled_from(PAIRS).map(lambda pair: Tag(*pair)),
    st.integers(2, 9).map(lambda number: Chain(str(number))),
]
words = st.lists(st.sampled_from(["light", "house", "the light", "_", "%"]), max_size=2)
filters = st.tuples(
    *(one.map(lambda condition: Filters([condition])) for one in conditions),
    st.builds(
        Filters,
        st.lists(st.one_of(conditions), max_size=2),
        words,
        since=st.none() | st.integers(0, 6),
    ),
    st.builds(Filters, words=words, until=st.none() | st.integers(0, 7)),
)
"""Each condition alone, and some together."""


def is_text(value: str, wanted: str) -> bool:
    return value.startswith(wanted[:-1]) if wanted.endswith("*") else value == wanted


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
            return any(name in one.tools.split() for name in values)
        case AnyOf(field, values):
            value = getattr(one, TEXT_FIELDS[field])
            return (value != "" or field != "key") and any(
                is_text(value, wanted) for wanted in values
            )
        case Compare(field, operator, value):
            took = None if one.ended is None else one.ended - one.began
            number = {
                "first": one.first,
                "took": took,
                "tokens": one.input_tokens + one.output_tokens,
            }[field]
            return number is not None and OPERATORS[operator](number, value)
        case Flag(field, value):
            return bool(one.flags & FLAGS[field]) is value
        case Tag(name, value):
            return pair_of(name, value) in one.tags
        case Chain(response_id):
            return one.id in chain_of(all_, response_id)


def found_by(filters: Filters, facts: Sequence[Facts]) -> list[str]:
    """The newest first, of rows in the order in which they were kept."""
    order = sorted(enumerate(facts), key=lambda pair: (pair[1].began, pair[0]), reverse=True)
    return [
        one.id
        for _, one in order
        if all(matches(one, condition, facts) for condition in filters.conditions)
        and all(word in f"{one.input} {one.output}".lower() for word in filters.words)
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
    facts = []
    for number, row in enumerate(drawn):
        fields = dict(row)
        took = fields.pop("took")
        parent = fields.pop("parent")
        fields["ended"] = None if took is None else fields["began"] + took  # type: ignore[operator]
        fields["previous_response_id"] = "" if parent is None else f"{run}{parent}"
        facts.append(new_facts(f"{run}{number}", tenant, **fields))
    await store.write(stored_facts.put_new, facts)
    for one in filters:
        named = [
            Chain(run + each.response_id) if isinstance(each, Chain) else each
            for each in one.conditions
        ]
        wanted = replace(one, conditions=named)
        expected = found_by(wanted, facts)
        if not any(isinstance(each, Chain) for each in named):
            assert {one.id for one in facts if matching.matches(one, wanted)} == set(expected), (
                wanted
            )
        query = FactsQuery(limit, descending=down, filters=wanted, most_read=most_read)
        assert await all_pages(store, tenant, query) == (expected if down else expected[::-1]), (
            wanted
        )


async def test_a_key_is_found_by_its_name(store: Store) -> None:
    tenant = new_id("tenant")
    key = ApiKey(new_id("key"), tenant, "build", new_id("d").encode(), "…abcd", 1)
    await store.write(api_keys.put, key)
    mine = new_facts(tenant=tenant, key_id=key.id)
    other = new_facts(tenant=tenant, key_id="key_other")
    await store.write(stored_facts.put_new, [mine, other])
    for line, expected in (
        ("key:build", [mine.id]),
        (f"key:{other.key_id}", [other.id]),
        ("key:none", []),
    ):
        page = await store.read(
            facts_page.page, tenant, FactsQuery(9, filters=parse_filters(line, 0))
        )
        assert [one.id for one in page.facts] == expected


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
    ["a b c d e f g h", "backend:a*,b*,c*,d* tool:e,f metadata.g:h i", "model:1,2,3,4,5,6,7,8"],
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
    query = FiguresQuery(0, 60, 60, filters=parse_filters("a b c d e f g h", 0), most_read=16)
    assert (await store.read(figures.figures, tenant, query)).partial_since == 13
