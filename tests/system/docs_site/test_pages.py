"""The built documentation: it works from the file system, fits a phone, and exists as Markdown."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.browser import Page, a_page, needs_browser
from tests.support.site import load

pytestmark = pytest.mark.timeout(
    1200
)  # the first test builds the pages, on a machine that may be busy

PAGES = [
    "index.html",
    "get-started/quickstart.html",
    "guides/use-with-codex.html",
    "operate/keys-and-budgets.html",
    "reference/settings.html",
    "reference/errors.html",
    "reference/dialects.html",
    "reference/server-comparison.html",
    "reference/python-api.html",
    "reference/python-api/types.html",
    "reference/openapi.html",
    "why/dependencies.html",
]
MEASURE = """(() => {
    const content = document.querySelector(".content");
    const wide = [...document.querySelectorAll("article table, article pre")]
        .filter(each => !each.closest(".table-wrapper:has(> .wide)") && !each.closest(".highlight"))
        .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth)
    return {page: document.documentElement.scrollWidth, view: document.documentElement.clientWidth,
            inside: content.scrollWidth, content: content.clientWidth, wide: wide.length}
})()"""
BROKEN = """[...document.querySelectorAll("article table:not(.wide) td code")]
    .filter(code => code.getClientRects().length > 0.4 * code.textContent.length && code.textContent.length > 4)
    .map(code => code.textContent)"""  # noqa: E501 - the lines of a text


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with a_page() as found:
        yield found


async def show(page: Page, site: Path, name: str) -> None:
    await page.goto((site / name).as_uri())
    await page.wait_for(f"location.href.includes({name!r}) && document.readyState == 'complete'")


@needs_browser
@pytest.mark.rotating
@pytest.mark.parametrize("width", [390, 768, 1280])
async def test_no_page_is_wider_than_the_screen(site: Path, page: Page, width: int) -> None:
    await page.resize(width)
    for name in PAGES:
        await show(page, site, name)
        found = await page.evaluate(MEASURE)

        assert found["page"] <= found["view"], name
        assert found["inside"] <= found["content"], name
        assert found["wide"] == 0, name


@needs_browser
@pytest.mark.rotating
@pytest.mark.parametrize("width", [390, 1280])
async def test_code_in_tables_does_not_break_letter_by_letter(
    site: Path, page: Page, width: int
) -> None:
    await page.resize(width)
    for name in PAGES:
        await show(page, site, name)
        assert await page.evaluate(BROKEN) == [], name


@needs_browser
async def test_the_pages_load_nothing_from_elsewhere_and_have_no_errors(
    site: Path, page: Page
) -> None:
    for name in PAGES:
        await show(page, site, name)

    assert page.hosts() == set()
    assert page.complaints == []


@needs_browser
async def test_the_search_works_from_the_file_system(site: Path, page: Page) -> None:
    await page.goto((site / "search.html").as_uri() + "?q=idempotency")
    await page.wait_for("document.querySelectorAll('#search-results .search li a').length > 0")


@needs_browser
async def test_colours_follow_the_system_and_the_switch(site: Path, page: Page) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    await page.prefer("light")
    await show(page, site, "index.html")
    light = await page.evaluate(colour)
    await page.prefer("dark")
    dark = await page.evaluate(colour)
    assert dark != light

    await page.resize(1280)
    await page.evaluate("document.querySelector('.theme-toggle-content .theme-toggle').click()")
    assert await page.evaluate(colour) == light


@needs_browser
async def test_a_language_that_is_chosen_on_one_page_is_chosen_on_the_others(
    site: Path, page: Page
) -> None:
    label = "each.querySelector('input:checked + label').innerText"
    chosen = f"[...document.querySelectorAll('.sd-tab-set')].map(each => {label})"
    await show(page, site, "get-started/quickstart.html")
    assert set(await page.evaluate(chosen)) == {"curl"}

    await page.evaluate("document.querySelector('.sd-tab-set label[data-sync-id=python]').click()")
    assert set(await page.evaluate(chosen)) == {"Python"}

    await show(page, site, "guides/call-tools.html")
    assert set(await page.evaluate(chosen)) == {"Python"}


@needs_browser
async def test_a_row_is_a_block_with_labels_on_a_phone(site: Path, page: Page) -> None:
    await page.resize(390)
    await show(page, site, "reference/openapi.html")
    cell = "document.querySelector('article table.columns-4 td:nth-child(2)')"

    assert await page.evaluate(f"getComputedStyle({cell}).display") == "block"
    assert await page.evaluate(f"getComputedStyle({cell}, '::before').content") == '"In: "'


@needs_browser
async def test_the_header_of_a_long_table_stays_visible(site: Path, page: Page) -> None:
    await page.resize(1280)
    await show(page, site, "reference/python-api/settings.html")
    row = "document.querySelector('article table tbody tr:nth-child(30)')"
    await page.evaluate(f"{row}.scrollIntoView({{behavior: 'instant', block: 'center'}})")

    assert (
        await page.evaluate(
            "document.querySelector('article table thead th').getBoundingClientRect().top"
        )
        == 0
    )


def test_links_images_and_anchors_are_sound(site: Path) -> None:
    assert list(load("check_docs").check_html(site)) == []


def test_every_page_is_also_markdown(site: Path) -> None:
    pages = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")} - {
        Path("search"),
        Path("genindex"),
        Path("py-modindex"),
    }

    assert [
        str(page) for page in sorted(pages) if not (site / page).with_suffix(".md").exists()
    ] == []


def test_the_markdown_is_plain(site: Path) -> None:
    directive = re.compile(r"^\s*(?:`{3,}|:{3,})\s*\{[\w-]+\}|^\.\. \w+::", re.MULTILINE)
    pages = {path: path.read_text() for path in site.rglob("*.md")}

    assert [
        str(path.relative_to(site)) for path, text in pages.items() if directive.search(text)
    ] == []
    assert [
        str(path.relative_to(site)) for path, text in pages.items() if not text.startswith("# ")
    ] == []


def test_the_links_of_the_markdown_lead_to_files(site: Path) -> None:
    dead = []
    for path in site.rglob("*.md"):
        text = re.sub(
            r"^(`{3,}).*?^\1$|(`+).+?\2", "", path.read_text(), flags=re.MULTILINE | re.DOTALL
        )
        links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if ":" not in link]
        dead += [
            f"{path.relative_to(site)}: {link}"
            for link in links
            if not (path.parent / link).exists()
        ]

    assert dead == []


def test_llms_txt_has_every_page(site: Path) -> None:
    text = (site / "llms.txt").read_text()
    title, empty, summary, *_ = text.split("\n")
    linked = set(re.findall(r"\]\(([^)]+)\)", text))
    pages = {str(path.relative_to(site)) for path in site.rglob("*.md")} - {"index.md"}

    assert (title, empty) == ("# Antiphon", "")
    assert summary.startswith("> ")
    assert linked == pages
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        *("Get started", "Guides", "Hosted tools", "Operate", "Reference", "Understand"),
    ]


def test_llms_full_txt_has_the_text_of_every_page(site: Path) -> None:
    whole = (site / "llms-full.txt").read_text()

    assert [str(path) for path in site.rglob("*.md") if path.read_text() not in whole] == []
