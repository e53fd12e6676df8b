"""Containers, code, figures and images: what a reader sees of them and does with them."""

import json
from pathlib import Path

import pytest

from tests.support.browser import needs_browser
from tests.support.console.containers import CONTAINER, code_call, created, image_call, making
from tests.system.console.conftest import Console
from tests.system.console.test_hostile import CORPUS, poisoned
from tests.system.console.test_journeys import by_curl, by_python

pytestmark = [needs_browser, pytest.mark.timeout(300), pytest.mark.rotating]

ROWS = "document.querySelectorAll('tbody tr').length"
WIDTHS = (1440, 390, 320)
DRAWN = (
    "[...document.querySelectorAll('main .item-picture img')].every(each => each.complete && "
    "each.naturalWidth === 320)"
)
ACTIVE = "main :is(script, style, iframe, img)"
MENU = "[...document.querySelectorAll('[role=menuitem]')].map(each => each.innerText).join()"


async def test_the_keyboard_alone_opens_a_container_and_kills_it(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await page.press("g")
    await page.press("o")
    await page.see("Analysis of the queue")
    assert await console.findings() == []
    await page.evaluate("document.querySelector('.row-name a').focus()")
    await page.press("Enter")
    await page.see("/mnt/data/queue.png")
    await page.wait_for("document.title === 'Analysis of the queue · Antiphon'")
    await page.evaluate("document.querySelector('.top .btn.bad').focus()")
    await page.press("Enter")
    await page.see("Kill Analysis of the queue?")
    assert await console.findings() == []
    await page.press("Escape")
    await page.wait_for(
        "!document.querySelector('dialog') && document.activeElement.innerText === 'Kill'"
    )
    assert console.server.containers.killed == []
    await page.press("Enter")
    await console.click(".btn.danger")
    await page.wait_for(f"location.pathname.endsWith('/containers') && {ROWS} === 3")
    assert console.server.containers.killed == [f"/admin/v1/containers/{CONTAINER}"]
    console.check()


async def test_the_list_is_renewed_by_itself(console: Console) -> None:
    await console.open("containers", shows="Analysis of the queue")
    await console.page.wait_for("document.querySelector('.tag.accent')?.innerText === 'busy'")
    console.server.containers.all[0] |= {"is_busy": False, "calls": 977}
    await console.page.see("977")
    await console.page.wait_for("!document.querySelector('.tag.accent')")
    console.check()


async def test_files_of_a_container_are_downloaded_and_deleted(
    console: Console, tmp_path: Path
) -> None:
    await console.save_to(tmp_path)
    await console.open(f"containers/{CONTAINER}", shows="/mnt/data/queue.png")
    await console.click("[aria-label='Download Städte.csv']")
    assert await console.saved(tmp_path / "Städte.csv") == b"made by code"
    await console.click("[aria-label='Delete queue.png']")
    await console.page.see("permanently deletes the file")
    await console.click(".btn.danger")
    await console.page.wait_for("document.querySelectorAll('[aria-label^=Delete]').length === 2")
    console.check()


async def test_the_last_calls_of_a_container_lead_to_their_responses(console: Console) -> None:
    row = next(row for row in console.server.rows if row["id"] == "resp_7e08")
    row |= {"tools": ["code_interpreter"]}
    console.server.output = created()
    await console.open(f"containers/{CONTAINER}", shows="ls /mnt/data; cat no.csv")
    assert "import pandas" in await console.page.evaluate(
        "document.querySelector(\"[aria-label='Last calls']\").innerText"
    )
    assert await console.findings() == []
    await console.choose("Responses of that time")
    await console.page.wait_for(f"{ROWS} === 1 && location.search.includes('code_interpreter')")
    await console.open(f"containers/{CONTAINER}", shows="ls /mnt/data; cat no.csv")
    await console.click("[aria-label='Last calls'] .list-lines a")
    await console.page.wait_for("location.pathname.endsWith('/r/resp_7e08')")
    console.check()


async def test_expired_containers_and_those_of_other_tenants_offer_what_is_allowed(
    console: Console,
) -> None:
    await console.open("containers", shows="Reports of acme")
    await console.click("[aria-label='Actions for Yesterday']")
    assert await console.page.wait_for(MENU) == "Copy ID"
    await console.choose("Reports of acme")
    await console.page.see("belongs to the tenant acme")
    assert not await console.page.evaluate(
        "document.querySelector('[aria-label^=Download], [aria-label^=Delete]')"
    )
    await console.choose("Kill")
    await console.click(".btn.danger")
    await console.page.wait_for(f"{ROWS} === 3")
    assert console.server.containers.killed == ["/admin/v1/containers/cntr_4?tenant=acme"]
    await console.choose("Yesterday")
    await console.page.see("This container has expired")
    assert await console.findings() == []
    console.check()


async def test_an_expired_container_is_reported(console: Console) -> None:
    await console.open("containers/cntr_gone", shows="No container found.")
    assert await console.findings() == []
    console.check("404")


async def test_a_response_shows_code_figures_shells_images_and_files(
    console: Console, tmp_path: Path
) -> None:
    await console.save_to(tmp_path)
    console.server.output = created()
    for scheme in ("light", "dark"):
        await console.page.prefer(scheme)
        await console.open("r/resp_7e08", shows="lengths.mean()")
        await console.page.wait_for(
            f"document.querySelectorAll('.item-picture img').length === 2 && {DRAWN}"
        )
        assert await console.findings() == [], scheme
    for text in (
        "12 rows",
        "length    4.25",
        "cat no.csv",
        "exit code 1",
        "No such file",
        "1024x1024",
    ):
        assert text in await console.page.evaluate("document.querySelector('main').innerText"), text
    alts = "[...document.querySelectorAll('.item-picture img')].map(each => each.alt)"
    assert (await console.page.evaluate(alts))[
        1
    ] == "A grey lighthouse in the fog, seen from the sea"
    for width in WIDTHS:
        await console.page.resize(width)
        assert await console.fits(), width
    await console.page.evaluate("document.querySelector('.sources .file-button').focus()")
    await console.page.press("Enter")
    assert await console.saved(tmp_path / "queue.png") == b"made by code"
    await console.page.evaluate(
        "[...document.querySelectorAll('.item-picture .file-button')].at(-1).click()"
    )
    assert (await console.saved(tmp_path / "image.png")).startswith(b"\x89PNG")
    await console.click("[aria-label^='Container cntr_']")
    await console.page.see("/mnt/data/queue.png")
    console.check()


async def test_a_file_of_an_expired_container_has_an_explanation(console: Console) -> None:
    console.server.output = created()
    console.server.containers.all.clear()
    await console.open("r/resp_7e08", shows="The mean is 4.25")
    await console.click(".sources .file-button")
    await console.page.see("No container found.")
    assert await console.findings() == []
    console.check("404")


async def test_the_playground_streams_code_and_partial_images(console: Console) -> None:
    response = {"id": "resp_play", "object": "response", "status": "in_progress", "model": "fast"}
    ended = response | {"status": "completed", "output": [code_call(), image_call()]}
    console.server.script = [*making(response), {"type": "wait"}]
    await console.open("play", shows="fast")
    await console.send_message("Plot it, then draw a lighthouse")
    await console.page.see("Partial image")
    await console.page.wait_for(
        f"document.querySelectorAll('.item-picture img').length === 2 && {DRAWN}"
    )
    await console.page.see("12 rows")
    assert await console.findings() == []
    console.server.script = [*making(response), {"type": "response.completed", "response": ended}]
    await console.choose("New conversation")
    console.server.go.set()
    await console.send_message("Again")
    await console.page.see("A grey lighthouse")
    await console.page.see("Open this response")
    assert "Partial image" not in await console.page.evaluate(
        "document.querySelector('.lane').innerText"
    )
    console.check()


async def choose_option(console: Console, label: str, value: str) -> None:
    """Choose a value in the field with a label."""
    find = (
        "[...document.querySelectorAll('dialog label')].find(each => "
        f"each.innerText.trim() === {label!r}).control"
    )
    change = (
        f"field.value = {value!r}, field.dispatchEvent(new Event('change', {{bubbles: "
        f"true}})), true"
    )
    await console.page.wait_for(f"(field => field && ({change}))({find})")


async def test_the_playground_sends_hosted_tools_and_prompts_exactly_as_its_code_states(
    console: Console, tmp_path: Path
) -> None:
    page = console.page
    await console.open("play", shows="fast")
    await console.choose("Add a tool")
    await console.choose("Code interpreter")
    await page.see("release-notes-2.4.pdf")
    assert await console.findings() == []
    await choose_option(console, "Memory limit", "4g")
    await page.evaluate("document.querySelector('dialog [type=checkbox]').click()")
    await page.wait_for("document.querySelector('dialog textarea').value.includes('file-1')")
    await console.choose("Save")
    await console.choose("Add a tool")
    await console.choose("Shell")
    await page.evaluate("document.querySelectorAll('dialog .choice input')[1].click()")
    await page.see("Analysis of the queue")
    assert await console.findings() == []
    await page.evaluate("document.querySelector('dialog .choices input').click()")
    await console.choose("Save")
    await console.choose("Add a tool")
    await console.choose("Image generation")
    await page.see("Partial images")
    assert await console.findings() == []
    await choose_option(console, "Quality", "high")
    await choose_option(console, "Partial images", "2")
    await console.choose("Save")
    await page.wait_for("!document.querySelector('dialog')")
    await console.write("[placeholder='pmpt_…']", "pmpt_1")
    await console.write('[placeholder=\'{"city": "Rome"}\']', '{"city": "Rome\'s \\"old\\" town"}')
    await console.write(".compose textarea", "What is in them?")
    codes = {}
    for language in ("curl", "Python", "JSON"):
        await console.choose(language)
        codes[language] = await page.evaluate("document.querySelector('.source').textContent")
    await console.click("[aria-label=Send]")
    await page.see("Open this response")
    (sent,) = console.server.bodies
    assert sent["tools"] == [
        {
            "type": "code_interpreter",
            "container": {"type": "auto", "memory_limit": "4g", "file_ids": ["file-1"]},
        },
        {
            "type": "shell",
            "environment": {"type": "container_reference", "container_id": CONTAINER},
        },
        {"type": "image_generation", "quality": "high", "partial_images": 2},
    ]
    assert sent["include"] == ["code_interpreter_call.outputs"]
    assert sent["prompt"] == {"id": "pmpt_1", "variables": {"city": 'Rome\'s "old" town'}}
    assert json.loads(codes["JSON"]) == sent
    assert by_curl(codes["curl"], tmp_path) == sent
    assert by_python(codes["Python"], tmp_path) == sent
    assert await console.findings() == []
    console.check()


async def test_a_prompt_needs_no_model_and_no_message(console: Console) -> None:
    await console.open("play", shows="fast")
    await console.write("[placeholder='pmpt_…']", "pmpt_1")
    find = "document.querySelector('.panel select')"
    await console.page.evaluate(
        f"{find}.value = '', {find}.dispatchEvent(new Event('change', {{bubbles: true}}))"
    )
    await console.click("[aria-label=Send]")
    await console.page.see("Open this response")
    assert console.server.bodies == [{"prompt": {"id": "pmpt_1"}, "stream": True}]
    assert await console.findings() == []
    console.check()


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
async def test_hostile_code_files_and_images_do_nothing(console: Console, text: str) -> None:
    server = console.server
    short = text[:2_000]
    server.containers.all = [
        one | {"name": short, "worker": short} for one in server.containers.all
    ]
    server.containers.files = [
        one | {"path": f"/mnt/data/{short}"} for one in server.containers.files
    ]
    code, *others = created()
    output = [poisoned(one, text) for one in (code, *others)]
    remote = [
        {"type": "image", "url": url}
        for url in ("http://tracker.example/p.png", "javascript:window.harm=1")
    ]
    output.append(
        code_call(code=text, container_id=text, outputs=[*remote, {"type": "logs", "logs": text}])
    )
    output.append(image_call(result=text, revised_prompt=text, size=text, error={"message": text}))
    server.output = output
    server.rows = [row | {"tools": ["code_interpreter"]} for row in server.rows]
    for path in ("containers", f"containers/{CONTAINER}", "r/resp_7e08", "containers/%3Cscript%3E"):
        await console.open(path)
        for width in WIDTHS:
            await console.page.resize(width)
            assert await console.fits(), (path, width)
        assert await console.page.evaluate("window.harm") is None
        found = await console.page.evaluate(
            f"[...document.querySelectorAll({ACTIVE!r})].map(each => each.outerHTML)"
        )
        assert [each for each in found if not each.startswith('<img src="data:image/png;')] == []
    console.check("404")
