"""Files and vector stores: what a reader does with them, by mouse and by keyboard alone."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.browser import needs_browser
from tests.system.console.conftest import Console
from tests.system.console.test_hostile import CORPUS, poisoned
from tests.system.console.test_journeys import by_curl, by_python

pytestmark = [needs_browser, pytest.mark.timeout(300), pytest.mark.rotating]

ROWS = "document.querySelectorAll('tbody tr').length"
DROP = """
(() => {
  const dropped = new DataTransfer();
  dropped.items.add(new File(['dropped'], 'dropped “one”.txt', {type: 'text/plain'}));
  const options = {dataTransfer: dropped, bubbles: true, cancelable: true};
  document.querySelector('%s').dispatchEvent(new DragEvent('drop', options));
})()
"""


async def written(folder: Path, *names: str) -> list[Path]:
    """Write files with their names as their content."""
    paths = [folder / name for name in names]
    for path in paths:
        await asyncio.to_thread(path.write_bytes, path.name.encode())
    return paths


async def test_the_keyboard_alone_creates_and_searches_a_vector_store(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await page.press("g")
    await page.press("f")
    await page.see("release-notes-2.4.pdf")
    await page.evaluate("document.querySelector('.segments a:last-child').focus()")
    await page.press("Enter")
    await page.see("Handbook and release notes")
    await page.press("n")
    await page.see("Days without use until it expires")
    assert await console.findings() == []
    await page.press("Tab")
    await page.type("Minutes")
    await page.press("Tab")
    await page.type("400")
    await page.see("A number from 1 to 365")
    await console.write("dialog:modal [inputmode=numeric]", "30")
    await page.press("Enter")
    await page.wait_for("location.pathname.endsWith('/files/vs_9')")
    await page.see("No files yet")
    assert console.server.files.stores[0]["expires_after"] == {
        "anchor": "last_active_at",
        "days": 30,
    }
    await page.press("/")
    await page.wait_for("document.activeElement.matches('input, textarea')")
    await page.type("blockers")
    await page.press("Enter")
    await page.see("0.913")
    assert await page.evaluate("document.activeElement.type") == "search"
    assert console.server.files.searches == [{"query": "blockers", "max_num_results": 10}]
    assert await console.findings() == []
    console.check()


async def test_files_are_uploaded_concurrently_and_a_failed_one_has_its_reason(
    console: Console, tmp_path: Path
) -> None:
    await console.open("files", shows="release-notes-2.4.pdf")
    await console.page.evaluate("document.querySelectorAll('.drop-options select')[0].focus()")
    await console.attach(*await written(tmp_path, "a.txt", "Überblick.md", "c.exe"))
    await console.page.see("The file is larger than this server accepts.")
    await console.page.wait_for(f"{ROWS} === 7")
    assert await console.findings() == []
    sent = {
        one["filename"]: (one["bytes"], one["purpose"]) for one in console.server.files.uploaded
    }
    assert sent == {
        "a.txt": (5, "user_data"),
        "Überblick.md": (13, "user_data"),
        "c.exe": (5, "user_data"),
    }
    await console.choose("Clear the list")
    await console.page.wait_for("!document.querySelector('[aria-label=Uploads]')")
    console.check("413")


async def test_files_are_dropped(console: Console) -> None:
    await console.open("files", shows="release-notes-2.4.pdf")
    await console.page.evaluate(DROP % ".drop-zone")
    await console.page.wait_for(f"{ROWS} === 6")
    await console.page.see("dropped “one”.txt")
    console.check()


async def test_a_file_is_downloaded_under_its_name(console: Console, tmp_path: Path) -> None:
    await console.save_to(tmp_path)
    await console.open("files", shows="release-notes-2.4.pdf")
    await console.click("[aria-label='Actions for release-notes-2.4.pdf']")
    await console.choose("Download")
    assert await console.saved(tmp_path / "release-notes-2.4.pdf") == b"content"
    console.check()


async def test_a_file_is_deleted_after_a_confirmation(console: Console) -> None:
    await console.open("files", shows="release-notes-2.4.pdf")
    await console.click("[aria-label='Actions for scan-of-contract.pdf']")
    await console.choose("Delete…")
    await console.page.see("takes it out of all vector stores")
    assert await console.findings() == []
    await console.click(".btn.danger")
    await console.page.wait_for(f"{ROWS} === 4")
    console.check()


async def test_files_and_vector_stores_of_another_tenant_are_read_only(console: Console) -> None:
    await console.open("files", shows="requests.jsonl")
    await console.click("[aria-label='Actions for requests.jsonl']")
    actions = "[...document.querySelectorAll('[role=menuitem]')].map(each => each.innerText).join()"
    assert await console.page.wait_for(actions) == "Copy ID"
    await console.open("files/stores", shows="Tickets of acme")
    await console.choose("Tickets of acme")
    await console.page.see("belongs to the tenant acme")
    assert await console.page.evaluate("location.search") == "?tenant=acme"
    assert not await console.page.evaluate(
        "document.querySelector('.drop-zone, [type=search], .top .btn')"
    )
    assert await console.findings() == []


async def test_ingestion_is_followed_until_it_ends(console: Console) -> None:
    await console.open("files/vs_1", shows="2 of 3 ingested")
    await console.page.see("The PDF has pictures and no text.")
    assert await console.findings() == []
    console.server.files.finish()
    await console.page.wait_for("!document.querySelector('progress')")
    await console.page.wait_for("document.querySelectorAll('.list-lines .tag.good').length === 2")
    polls = console.server.files.lookups
    await console.page.evaluate("new Promise(done => setTimeout(done, 1500))")
    assert console.server.files.lookups == polls
    console.check()


async def test_the_end_of_an_ingestion_is_displayed_whenever_it_occurs(console: Console) -> None:
    await console.open("files/vs_1", shows="2 of 3 ingested")
    console.server.files.ends_between = asyncio.Event()
    await console.page.wait_for("document.querySelectorAll('.list-lines .tag.good').length === 2")
    console.check()


async def test_files_are_attached_uploaded_and_detached(console: Console, tmp_path: Path) -> None:
    page = console.page
    files = console.server.files
    files.finish()
    await console.open("files/vs_1", shows="The PDF has pictures and no text.")
    await console.choose("Attach uploaded files")
    await page.see("queue-lengths.xlsx")
    assert await console.findings() == []
    await page.evaluate("[...document.querySelectorAll('dialog [type=checkbox]')][2].click()")
    await page.see("Attach 1")
    await console.choose("Attach 1")
    await page.wait_for("document.querySelectorAll('[aria-label^=Detach]').length === 4")
    await console.attach(*await written(tmp_path, "a.txt"))
    await page.wait_for("document.querySelector(\"[aria-label='Detach a.txt']\") !== null")
    assert files.uploaded[0]["purpose"] == "assistants"
    files.finish()
    await page.wait_for("!document.querySelector('progress')")
    await console.click("[aria-label='Detach scan-of-contract.pdf']")
    await page.see("The file itself stays.")
    await console.click(".btn.danger")
    await page.wait_for("document.querySelectorAll('[aria-label^=Detach]').length === 4")
    console.check()


async def test_a_vector_store_is_renamed_and_deleted(console: Console) -> None:
    page = console.page
    await console.open("files/vs_1", shows="Handbook and release notes")
    await console.click("[aria-label='More actions']")
    await console.choose("Rename…")
    await console.write("dialog:modal input", "Handbook")
    await page.press("Enter")
    await page.wait_for(
        "!document.querySelector('dialog') && document.title === 'Handbook · Antiphon'"
    )
    body = {"name": "Handbook", "expires_after": {"anchor": "last_active_at", "days": 7}}
    assert console.server.files.stores[0].items() >= body.items()
    await console.click("[aria-label='More actions']")
    await console.choose("Delete…")
    await page.see("The files themselves stay.")
    await console.click(".btn.danger")
    await page.wait_for(f"location.pathname.endsWith('/files/stores') && {ROWS} === 3")
    console.check()


async def test_a_search_is_filtered_by_an_attribute(console: Console) -> None:
    await console.open("files/vs_2", shows="412")
    await console.write("[type=search]", "blockers")
    await console.click(".search-filter summary")
    await console.write("[aria-label=Attribute]", "year")
    await console.write("[aria-label=Value]", "2026")
    await console.page.press("Enter")
    await console.page.see("3 passages")
    filters = {"key": "year", "type": "eq", "value": 2026}
    assert console.server.files.searches == [
        {"query": "blockers", "max_num_results": 10, "filters": filters}
    ]
    await console.click(".passage summary")
    assert await console.findings() == []
    console.server.files.hits = []
    await console.choose("Search")
    await console.page.see("No passage found")
    console.check()


async def test_the_playground_sends_files_and_searches_vector_stores(
    console: Console, tmp_path: Path
) -> None:
    page = console.page
    await console.open("play", shows="fast")
    await console.choose("Add a tool")
    await console.choose("File search")
    await page.see("Handbook and release notes")
    assert await console.findings() == []
    await page.evaluate("document.querySelectorAll('dialog [type=checkbox]')[1].click()")
    await page.wait_for("document.querySelector('dialog textarea').value.includes('vs_2')")
    await console.choose("Save")
    await page.evaluate(
        "[...document.querySelectorAll('label')].find(e => e.innerText === 'Search "
        "results').click()"
    )
    (path,) = await written(tmp_path, 'it\'s "q".txt')
    await console.attach(path, selector=".compose input[type=file]")
    await page.see('it\'s "q".txt, ')
    await console.click("[aria-label='Attach files']")
    await console.choose("Choose an uploaded file…")
    await page.see("queue-lengths.xlsx")
    await page.evaluate("document.querySelectorAll('dialog [type=checkbox]')[0].click()")
    await console.choose("Attach 1")
    await page.see("release-notes-2.4.pdf, uploaded")
    await console.write(".compose textarea", "What is in them?")
    codes = {}
    for language in ("curl", "Python", "JSON"):
        await console.choose(language)
        codes[language] = await page.evaluate("document.querySelector('.source').textContent")
    await console.click("[aria-label=Send]")
    await page.see("Two issues block 2.4")
    (sent,) = console.server.bodies
    assert sent["tools"] == [{"type": "file_search", "vector_store_ids": ["vs_2"]}]
    assert sent["include"] == ["file_search_call.results"]
    assert [part["type"] for part in sent["input"][0]["content"]] == [
        "input_text",
        "input_file",
        "input_file",
    ]
    assert sent["input"][0]["content"][2] == {"type": "input_file", "file_id": "file-1"}
    assert json.loads(codes["JSON"]) == sent
    assert by_curl(codes["curl"], tmp_path) == sent
    assert by_python(codes["Python"], tmp_path) == sent
    await page.see("issues that block release 2.4")
    assert "release-notes-2.4.pdf" in await page.evaluate(
        "document.querySelector('.sources').innerText"
    )
    assert await console.findings() == []
    console.check()


async def test_a_file_is_uploaded_from_the_playground_and_named_by_its_id(
    console: Console, tmp_path: Path
) -> None:
    await console.open("play", shows="fast")
    await console.page.send("Page.setInterceptFileChooserDialog", enabled=True)
    await console.page.evaluate("document.querySelector(\"[aria-label='Attach files']\").focus()")
    await console.page.press("Enter")
    await console.page.wait_for("document.activeElement.getAttribute('role') === 'menuitem'")
    await console.page.press("ArrowDown")
    assert (
        await console.page.evaluate("document.activeElement.textContent")
        == "Upload, and send the ID"
    )
    await console.page.press("Enter")
    await console.attach(*await written(tmp_path, "a.png"), selector=".compose input[type=file]")
    await console.page.see("a.png, uploaded")
    await console.send_message("What is it?")
    await console.page.see("Two issues block 2.4")
    assert console.server.files.uploaded[0]["purpose"] == "vision"
    assert console.server.bodies[0]["input"][0]["content"][1] == {
        "type": "input_image",
        "file_id": "file-101",
    }
    console.check()


async def test_a_vector_store_is_queried_in_the_playground(console: Console) -> None:
    await console.open("files/vs_2", shows="412")
    await console.choose("Ask about it")
    await console.page.see("Search results")
    await console.page.wait_for("document.querySelector('.source').textContent.includes('vs_2')")


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
async def test_hostile_names_and_passages_do_nothing(
    console: Console, text: str, tmp_path: Path
) -> None:
    files = console.server.files
    short = text[:2_000]
    files.files = [one | {"filename": short, "purpose": short} for one in files.files]
    files.stores = [one | {"name": short} for one in files.stores]
    files.store_files = [
        one
        | {
            "filename": short,
            "attributes": {short: text},
            "last_error": {"code": short, "message": text},
        }
        for one in files.store_files
    ]
    files.hits = [poisoned(one, text) | {"attributes": {short: text}} for one in files.hits]
    for path in ("files", "files/stores", "files/vs_1"):
        await console.open(path)
        for width in (320, 1440):
            await console.page.resize(width)
            assert await console.fits(), (path, width)
    await console.write("[type=search]", "x")
    await console.page.press("Enter")
    await console.page.see("3 passages")
    assert await console.fits()
    await console.open("play", shows="fast")
    await console.choose("Add a tool")
    await console.choose("File search")
    await console.page.wait_for("document.querySelectorAll('dialog [type=checkbox]').length === 4")
    assert await console.page.evaluate("window.harm") is None
    assert (
        await console.page.evaluate(
            "document.querySelectorAll('main :is(script, style, iframe, img)').length"
        )
        == 0
    )
    console.check()
