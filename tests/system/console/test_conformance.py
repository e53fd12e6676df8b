"""The page Conformance: reports, their differences, the matrix, and files of `antiphon verify
--json`.
"""

import asyncio
import json
import time
from pathlib import Path

import pytest
from msgspec.json import encode
from msgspec.structs import replace

from antiphon.console.reports import Reports
from antiphon.storage.records.tenants import Role
from antiphon_verify.report import encode_report
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.support.console.reports import report
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300)]


async def test_a_report_shows_what_changed_and_its_areas(console: Console) -> None:
    page = console.page
    await console.open("conformance", shows="antiphon over gpu-a")
    await console.choose("antiphon over gpu-a")
    await page.see("not worse")
    assert await console.findings() == []
    await console.click(".area summary")
    await page.wait_for("document.querySelectorAll('.results li').length > 3")
    await console.choose("Delete…")
    await page.see("This permanently deletes the report.")
    await console.click(".btn.danger")
    await page.wait_for("location.pathname.endsWith('/conformance')")
    await page.wait_for("document.querySelector('tbody td:last-child').textContent === '1'")
    console.check()


async def test_servers_are_compared_by_the_keyboard(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await page.press("g")
    await page.press("v")
    await page.see("antiphon over gpu-a")
    await console.choose("Compare")
    await page.see("chat:tools")
    await console.click(".matrix input, [type=checkbox]")
    await page.wait_for(
        "![...document.querySelectorAll('.area-row')].some(row => "
        "row.innerText.includes('chat:answer'))"
    )
    await console.click(".area-row button")
    await page.wait_for("document.querySelectorAll('.requirement').length > 0")
    assert await console.findings() == []
    console.check()


async def test_a_file_is_added_as_a_report(real: RealConsole, tmp_path: Path) -> None:
    await real.sign_in()
    await real.open("conformance", shows="No reports yet")
    for name, content in (
        ("bad.json", b"no"),
        ("good.json", encode_report(report("ollama", time.time()))),
    ):
        path = tmp_path / name
        await asyncio.to_thread(path.write_bytes, content)
        await real.attach(path)
        await real.page.see("is not JSON" if name == "bad.json" else "responses:models")
    await real.open("conformance", shows="gpt-oss-20b")
    real.check()


async def test_a_report_of_30_mb_is_rejected_with_the_limit(
    real: RealConsole, tmp_path: Path
) -> None:
    large = json.loads(encode_report(report("ollama", time.time()))) | {
        "base_url": "x" * 30_000_000
    }
    path = tmp_path / "large.json"
    await asyncio.to_thread(path.write_bytes, encode(large))
    await real.sign_in()
    await real.open("conformance", shows="No reports yet")
    await real.attach(path)
    await real.page.see("At most 2097152 are allowed.")
    await real.page.see("No reports yet")
    real.check("400")


async def test_hostile_reports_do_nothing(real: RealConsole) -> None:
    words = "<img src=x onerror='window.harm=1'>\u202e"
    hostile = replace(report("ollama", time.time()), name=words, model=words, about={words: words})
    hostile = replace(
        hostile, results=tuple(replace(one, came=words) for one in hostile.results[:5])
    )
    saved = await Reports(real.server.parts.store, real.server.parts.run.offload).save(
        encode_report(hostile)
    )
    await real.sign_in()
    for path in ("conformance", f"conformance/{saved['id']}", "conformance/compare"):
        await real.open(path)
        assert await real.page.evaluate("window.harm") is None
        assert await real.page.evaluate("document.querySelectorAll('main img').length") == 0
    real.check()


async def test_a_reader_has_no_such_page(real: RealConsole) -> None:
    await real.sign_in(Role.READ)
    assert "Conformance" not in await real.page.evaluate("document.querySelector('nav').innerText")
