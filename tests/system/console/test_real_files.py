"""Files and vector stores of the real server in the console: uploads, ingestion, search and
citations.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.storage.records.tenants import Role
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.support.replay import Answer, delta, sse, text
from tests.system.console.test_hostile import CORPUS

pytestmark = [needs_browser, pytest.mark.timeout(120)]

DONE = "document.querySelectorAll('.list-lines .tag.good').length"
ROWS = "document.querySelectorAll('tbody tr').length"
ROME = "Rome is the capital of Italy, a city of seven hills."


async def written(path: Path, content: str | bytes) -> Path:
    await asyncio.to_thread(
        path.write_bytes, content.encode() if isinstance(content, str) else content
    )
    return path


async def new_store(real: RealConsole, name: str = "notes") -> None:
    """Create a vector store with the form; its page is open then."""
    await real.open("files/stores", shows="No vector stores yet")
    await real.page.press("n")
    await real.write("dialog:modal input", name)
    await real.page.press("Enter")
    await real.page.see("No files yet")


async def test_a_file_is_uploaded_ingested_searched_and_cited(
    real: RealConsole, tmp_path: Path
) -> None:
    await real.sign_in()
    await new_store(real)
    await real.attach(
        await written(tmp_path / "Städte „Rom“.md", ROME),
        await written(tmp_path / "bad.txt", b"\xff\xfe\xff"),
    )
    await real.page.see("Städte „Rom“.md")
    await real.page.wait_for(
        f"{DONE} >= 1 && document.querySelector('.list-lines .error-text') !== null"
    )
    await real.page.wait_for("!document.querySelector('[aria-label=Ingestion]')")
    assert await real.findings() == []
    await real.page.press("/")
    await real.page.type("capital of Italy")
    await real.page.press("Enter")
    await real.page.see("1 passage,")
    assert ROME in await real.page.evaluate("document.querySelector('.search-hits').innerText")

    searching = {"index": 0, "id": "c1", "type": "function", "function": {"name": "file_search"}}
    searching["function"] |= {"arguments": json.dumps({"queries": ["capital of Italy"]})}  # type: ignore[operator]
    answers = [
        Answer([sse(delta(tool_calls=[searching]), delta("tool_calls"))]),
        Answer([text("It is Rome [1].")]),
    ]
    real.a.script = lambda _: answers.pop(0)
    await real.choose("Ask about it")
    await real.page.wait_for("document.querySelector('.panel select')?.value === 'm'")
    await real.send_message("Which city?")
    await real.page.see("Open this response")
    await real.page.see(ROME)
    assert (
        await real.page.evaluate("document.querySelector('.sources').innerText")
        == "1 Städte „Rom“.md"
    )
    await real.choose("Open this response")
    await real.page.see("Timeline")
    await real.page.see("capital of Italy")
    await real.page.see(ROME)
    real.check()


async def test_a_file_is_sent_whole_and_by_its_id(real: RealConsole, tmp_path: Path) -> None:
    await real.sign_in(path="files")
    await real.attach(await written(tmp_path / "rome.txt", ROME))
    await real.page.wait_for(f"{ROWS} === 1")
    await real.open("play")
    await real.page.wait_for("document.querySelector('.panel select')?.value === 'm'")
    await real.attach(
        await written(tmp_path / "paris.txt", "Paris is in France."),
        selector=".compose [type=file]",
    )
    await real.page.see("paris.txt, 19 B")
    await real.click("[aria-label='Attach files']")
    await real.choose("Choose an uploaded file…")
    await real.click("dialog [type=checkbox]")
    await real.choose("Attach 1")
    await real.page.wait_for("!document.querySelector('dialog')")
    await real.send_message("Where?")
    await real.page.see("Open this response")
    sent = json.dumps(real.a.requests[-1]["messages"])
    assert ROME in sent
    assert "Paris is in France." in sent
    real.check()


async def test_a_reader_manages_files_of_its_tenant_and_an_administrator_sees_all(
    real: RealConsole,
) -> None:
    for tenant in ("acme", "other"):
        await created(real, tenant, f"of {tenant}")
    await real.sign_in(Role.READ, path="files/stores")
    await real.page.see("of acme")
    assert "of other" not in await real.page.evaluate("document.querySelector('main').innerText")
    await real.choose("of acme")
    await real.choose("Change")
    await real.write("dialog:modal input", "ours")
    await real.page.press("Enter")
    await real.page.wait_for("document.title === 'ours · Antiphon'")
    await real.page.evaluate("[...document.querySelectorAll('.account button')].at(-1).click()")
    await real.page.see("Sign in to Antiphon")
    await real.sign_in(path="files/stores")
    await real.page.wait_for(f"{ROWS} === 2")
    await real.choose("of other")
    await real.page.see("belongs to the tenant other")
    await real.choose("Vector stores")
    await real.choose("ours")
    await real.page.see("No files yet")
    assert await real.page.evaluate("document.querySelector('.drop-zone') !== null")
    real.check()


async def created(real: RealConsole, tenant: str, name: str) -> None:
    """Create a vector store with a key of a tenant."""
    url = f"{real.server.url}/vector_stores"
    headers = await real.headers(tenant)
    async with real.server.http.post(url, json={"name": name}, headers=headers) as reply:
        assert reply.status == 200


async def test_hostile_files_do_nothing(real: RealConsole, tmp_path: Path) -> None:
    await real.sign_in()
    await new_store(real, "".join(CORPUS[:4])[:200])
    names = [each.replace("/", "_")[:60] + ".md" for each in CORPUS]
    contents = ["word " + each[:50_000] for each in CORPUS]
    await real.attach(
        *[await written(tmp_path / one, each) for one, each in zip(names, contents, strict=True)]
    )
    await real.page.wait_for(
        f"{DONE} === {2 * len(CORPUS)}"
    )  # the uploads, and the files of the vector store
    await real.write("[type=search]", "word")
    await real.page.press("Enter")
    await real.page.wait_for("document.querySelectorAll('.search-hits li').length > 3")
    await real.page.evaluate(
        "document.querySelectorAll('.passage summary').forEach(each => each.click())"
    )
    await harmless(real)
    for path in ("files", "files/stores", "files/%3Cscript%3E", "play?store=%3Cimg%20src=x%3E"):
        await real.open(path)
        await harmless(real)
    real.check("400")


async def harmless(real: RealConsole) -> None:
    """Nothing of what a file says has run, or has become an element."""
    assert await real.page.evaluate("window.harm") is None
    created: Any = await real.page.evaluate(
        "document.querySelectorAll('main :is(script, style, iframe, img)').length"
    )
    assert created == 0
    for width in (320, 390, 1440):
        await real.page.resize(width)
        assert await real.fits(), width
