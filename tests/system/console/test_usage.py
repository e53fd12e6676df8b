"""Usage and cost: days in UTC by group, with budgets, and links to the responses of each."""

import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from antiphon.storage.operations import facts
from antiphon.storage.records.facts import ESTIMATED, STREAM, Facts
from antiphon.storage.records.tenants import Role
from tests.store.facts import new_facts
from tests.support.browser import needs_browser
from tests.support.console import admin
from tests.support.console.real import RealConsole
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(120)]

ROWS = "[...document.querySelectorAll('main tbody .row-name')].map(each => each.textContent)"
FILTER = "new URLSearchParams(location.search).get('q')"
LINKS = """
[...document.querySelectorAll('[role=tabpanel] > .scroll-x tbody tr')].map(row => [
  row.querySelector('a').textContent, Number(row.cells[1].textContent), row.querySelector('a').href
]).concat([...document.querySelectorAll('.usage-days a, .usage-legend a')].map(link => [
  link.title, Number(/, (\\d+) response/.exec(link.title)?.[1] ?? NaN), link.href
]))
"""
"""The name, the number of responses and the address of each row, bar, and part of a bar."""

HOUR, DAY = 3_600_000, 86_400_000  # ms
VALUES = {
    "model": ("qwen3", "qwen3-coder", "a model: its -best OR worst", "<b>bold</b>", 'say "no"', ""),
    "backend": ("gpu-a", "gpu-b", ""),
    "key_id": ("key_1", "key_2", ""),
    "tenant": ("acme", "other"),
}
"""What the responses of a store have, with hostile names; the columns vary independently."""


def stored(now: int) -> list[Facts]:
    """Return responses of three days, with each of the values."""
    return [
        new_facts(
            began=now - at % 3 * DAY,
            ended=now - at % 3 * DAY + 900,
            status=("completed", "failed", "cancelled")[at % 5 % 3],
            input_tokens=100 * at,
            output_tokens=at,
            cost=at * 1_000_000,
            **{name: values[at // 2 % len(values)] for name, values in VALUES.items()},
        )
        for at in range(48)
    ]


@pytest.mark.rotating
@pytest.mark.parametrize("by", ["model", "key", "tenant", "backend"])
async def test_rows_and_bars_lead_to_exactly_their_responses(real: RealConsole, by: str) -> None:
    now = int(time.time() * 1000)
    await real.server.parts.store.write(facts.put_new, stored(now))
    await real.sign_in(Role.ADMIN)
    await real.open(f"usage?by={by}&days=7&measure=tokens", shows=f"Usage by {by}")
    links = await real.page.evaluate(LINKS)
    values = VALUES["key_id" if by == "key" else by]

    assert sum(count or 0 for _, count, _ in links[: len(values)]) == 48
    assert len(links) == 2 * len(values) + 7 + sum(
        len({fact_of(each, by) for each in stored(now)[at::3]}) for at in range(3)
    )
    for name, count, url in links:
        found = await listed(real, url)
        assert count is None or found == count, (name, url)
        assert found > 0 or count == 0, (name, url)
    real.check()


def fact_of(one: Facts, by: str) -> str:
    """Return the value by which a response is grouped."""
    return str(getattr(one, "key_id" if by == "key" else by))


async def listed(real: RealConsole, url: str) -> int:
    """Return how many responses the list has to which an address leads."""
    q = dict(parse_qsl(urlsplit(url).query))["q"]
    path = f"/admin/v1/responses?{urlencode({'q': q, 'limit': 100})}"
    headers = "{headers: {'antiphon-console': '1'}}"
    found = await real.page.evaluate(f"fetch({path!r}, {headers}).then(reply => reply.json())")
    assert "data" in found, (q, found)
    return len(found["data"])


async def test_a_row_a_bar_and_a_day_open_their_responses(real: RealConsole) -> None:
    for tenant in ("acme", "acme", "other"):
        await real.create(tenant)
    await real.sign_in(Role.ADMIN)
    for link, count in (
        ("[role=tabpanel] > .scroll-x .row-name a", 2),
        (".usage-part .usage-layer-0", 2),
        (".usage-legend a", 2),
        (".usage-days li:last-child .usage-day", 3),
        (".usage-by-day .row-name a", 3),
    ):
        await real.open("usage?by=tenant&measure=tokens", shows="other")
        figures = await real.page.evaluate("document.querySelector('.figures dd').innerText")
        assert figures.startswith("3"), figures
        await real.click(link)
        await real.page.see(f"{count} responses shown")
        line = await real.page.evaluate(FILTER)
        assert ("tenant:acme" in line) is (count == 2), (link, line)
        assert "since:20" in line and "until:20" in line and line.count("T00:00Z") == 2
    real.check()


async def test_a_key_without_a_name_and_responses_without_a_key_have_rows_with_names(
    real: RealConsole,
) -> None:
    real.keys["acme"], unnamed = await real.key(name="")
    await real.create()
    now = int(time.time() * 1000)
    await real.server.parts.store.write(
        facts.put_new, [new_facts(began=now, ended=now, model="", tenant="acme")]
    )
    await real.sign_in(Role.ADMIN)
    for by, names in (("key", {unnamed.id, "No key"}), ("model", {"m", "No model"})):
        await real.open(f"usage?by={by}", shows=f"No {by}")
        rows = await real.page.evaluate(ROWS)
        assert names <= set(rows) and "" not in rows, rows
    assert await real.findings() == []


async def test_a_failed_stream_costs_what_it_used_and_the_page_has_how_it_was_counted(
    real: RealConsole,
) -> None:
    now = int(time.time() * 1000)
    failed = new_facts(
        began=now,
        ended=now + 900,
        status="failed",
        model="m",
        flags=STREAM | ESTIMATED,
        input_tokens=40,
        output_tokens=7,
        cost=120_000,
    )
    await real.server.parts.store.write(facts.put_new, [failed])
    await real.sign_in(Role.ADMIN)
    await real.open("usage", shows="Usage by model")
    cells = await real.page.evaluate(
        "[...document.querySelector('[role=tabpanel] > .scroll-x tbody tr').cells]"
        ".map(each => each.innerText)"
    )

    assert cells[:-1] == ["m", "1", "1", "40", "0 %", "7", "100 %", "$0.00012"]
    await real.page.see("says “counted in the texts”")
    await real.click("[role=tabpanel] > .scroll-x .row-name a")
    await real.page.see("1 response shown")
    await real.click("main tbody a")
    await real.page.see("counted in the texts")


async def test_only_links_in_tables_and_the_legend_are_reached_by_tab(console: Console) -> None:
    await console.open("usage?days=30", shows="Others")
    bars = await console.page.evaluate("document.querySelectorAll('.usage-days a').length")
    stops = await console.page.evaluate(
        "[...document.querySelectorAll('.usage-chart a')].filter(one => one.tabIndex >= 0).length"
    )

    assert (bars, stops) == (30 + 3 * 30, 3)
    assert "cost a day, in UTC" in await console.page.evaluate("document.body.innerText")


async def test_a_daily_budget_is_a_line_unless_it_would_flatten_the_bars(console: Console) -> None:
    console.server.known_keys = [
        admin.key("build", budget_per_day="0.10", budget_per_month="50"),
        admin.key("large", budget_per_day="900"),
    ]
    await console.open("usage?by=key&measure=cost", shows="Others")
    lines = "[...document.querySelectorAll('.usage-budget')].map(each => each.innerText)"

    assert await console.page.wait_for(f"{lines}.length && {lines}") == ["build: $0.10 a day"]


async def test_the_page_reads_figures_once_for_bars_table_and_totals(console: Console) -> None:
    await console.open("usage", shows="Others")
    paths = [urlsplit(url).path for url in console.page.requests]

    assert sum(path.startswith(("/v1/", "/admin/")) for path in paths) <= 4, paths
    assert paths.count("/admin/v1/figures") == 1


def used(key: str, model: str, cost: int, ago: int = 1, **fields: Any) -> Facts:
    """Return a response of a key, which began some hours ago."""
    began = int(time.time() * 1000) - ago * HOUR
    took = fields.pop("took", 900)
    return new_facts(
        tenant="acme", key_id=key, model=model, cost=cost, began=began, ended=began + took, **fields
    )


async def cells(real: RealConsole) -> list[list[str]]:
    """Return the texts of the rows of the groups."""
    found: list[list[str]] = await real.page.evaluate(
        "[...document.querySelectorAll('[role=tabpanel] > .scroll-x tbody tr')]"
        ".map(row => [...row.cells].map(each => each.innerText.replaceAll('\\n', ' ')))"
    )
    return found


async def test_which_key_spent_most_this_week_and_on_what_takes_three_clicks(
    real: RealConsole,
) -> None:
    _, build = await real.key(name="build")
    _, nightly = await real.key(name="nightly")
    await real.server.parts.store.write(
        facts.put_new,
        [
            used(build.id, "small", 5_000_000),
            used(nightly.id, "large", 40_000_000, ago=50),
            used(nightly.id, "small", 1_000_000),
            used(build.id, "large", 900_000_000, ago=24 * 9),
        ],
    )
    await real.sign_in(Role.ADMIN)
    await real.choose("Usage and cost")
    await real.click("[role=tab]:nth-child(2)")
    await real.page.see("Usage by key")
    assert [row[0] for row in await cells(real)] == ["nightly", "build"]
    await real.click("[role=tabpanel] > .scroll-x tbody .actions a")
    await real.page.see("Usage by model")
    await real.page.see("Only key:nightly")
    rows = await cells(real)

    assert [(row[0], row[1], row[7]) for row in rows] == [
        ("large", "1", "$0.040"),
        ("small", "1", "$0.0010"),
    ]
    await real.click("[role=tabpanel] > .scroll-x tbody .row-name a")
    await real.page.see("1 response shown")
    await real.page.wait_for(
        "document.querySelector('[aria-label=\"Remove the filter key: nightly\"]') !== null"
    )
    real.check()


STREAMED = {"first": 100, "output_tokens": 80, "flags": STREAM}


async def test_whether_a_backend_is_slower_since_the_deployment_is_one_page(
    real: RealConsole,
) -> None:
    await real.server.parts.store.write(
        facts.put_new,
        [
            used("", "m", 0, ago=ago, backend=backend, took=took, **STREAMED)
            for ago, backend, took in (
                *((8, "gpu-a", 900), (8, "gpu-b", 900)),
                *((2, "gpu-a", 900), (2, "gpu-b", 7_000)),
            )
        ],
    )
    await real.sign_in(Role.ADMIN)
    since = datetime.fromtimestamp(time.time() - 5 * 3600, UTC).strftime("%Y-%m-%dT%H:%MZ")
    await real.choose("Backends")
    await real.choose("Compare speed")
    await real.page.see("Usage by backend")
    place = await real.page.evaluate("location.search")
    await real.open(f"usage{place}&since={since}", shows="before")
    rows = await cells(real)

    assert [row[0] for row in rows] == ["gpu-b", "gpu-a"]
    assert [row[1] for row in rows] == ["1", "1"]
    slow, usual = [row[5] for row in rows]
    assert slow.startswith("6.") and slow.endswith("before 875 ms"), rows
    assert usual == "875 ms before 875 ms", rows
    assert [row[7] for row in rows] == [
        "12 tokens/s before 100 tokens/s",
        "100 tokens/s before 100 tokens/s",
    ]
    for note in (
        "streamed responses with one model call",
        "p50 and p95 are approximate",
        "backend that it called last",
    ):
        await real.page.see(note)
    assert await real.findings() == []
    await real.page.resize(390)
    assert await real.fits()


async def test_an_exact_time_is_chosen_in_the_zone_of_the_page_and_back_undoes_it(
    console: Console,
) -> None:
    await console.page.send("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    await console.open("usage", shows="Others")
    assert "each begins at 05:30 in Asia/" in await console.page.evaluate("document.body.innerText")
    await console.choose("Last 7 days")
    await console.choose("From … to …")
    for place, value in (("first", "2026-11-20T10:30"), ("last", "2026-11-20T16:30")):
        field = f"[...document.querySelectorAll('dialog input')].at({-(place == 'last')})"
        await console.page.wait_for(
            f"{field} && ({field}.value = '{value}', {field}.dispatchEvent(new Event('input', "
            "{bubbles: true})), true)"
        )
    await console.choose("Show")
    await console.page.see("Hours as a table")
    path = next(url for url in reversed(console.page.requests) if "/admin/v1/figures" in url)
    requested = dict(parse_qsl(urlsplit(path).query))
    begun = datetime(2026, 11, 20, 5, tzinfo=UTC).timestamp()

    assert (float(requested["since"]), float(requested["until"])) == (begun, begun + 6 * 3600)
    assert "Nov 20, 10:30" in await console.page.evaluate(
        "document.querySelector('.usage-chart .ticks').innerText"
    )
    await console.page.evaluate("history.back()")
    await console.page.see("Last 7 days")
    await console.page.see("Days as a table")


async def test_a_page_for_a_filter_leads_back_to_all_responses(console: Console) -> None:
    await console.open("usage?q=model:fast&by=key", shows="Only model:fast")
    assert "q=model%3Afast" in next(url for url in console.page.requests if "/figures" in url)
    await console.choose("Show all")
    await console.page.wait_for("!document.querySelector('.usage-filter')")
    assert await console.findings() == []


@pytest.mark.rotating
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("measure", ["cost", "speed"])
async def test_axe_has_no_findings_and_nothing_is_cut(
    console: Console, scheme: str, width: int, measure: str
) -> None:
    await console.page.resize(width)
    await console.page.prefer(scheme)
    await console.open(f"usage?by=key&measure={measure}", shows="build")
    await console.click("summary")

    assert await console.findings() == []
    assert await console.fits()
    table = "document.querySelector('[role=tabpanel] > .scroll-x')"
    assert await console.page.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")
