"""Code, images and prompts of the real server in the console: containers with their files,
pictures, variables.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import FormData

from antiphon.config import Settings
from antiphon.storage.records.tenants import Role
from antiphon.tools.registry import Toolset
from tests.support import code, notebooks
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.support.images_server import images_server
from tests.support.replay import Answer, delta, sse, text
from tests.system.console.test_hostile import CORPUS

pytestmark = [needs_browser, pytest.mark.timeout(120)]

ROWS = "document.querySelectorAll('tbody tr').length"
HAS_MODEL = "document.querySelector('.panel select')?.value === 'm'"
CALL = "document.querySelector('.call-code')"
ACTIVE = "main :is(script, style, iframe, img)"


def calling(name: str, arguments: dict[str, Any]) -> Answer:
    """A model that calls a function."""
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return Answer([sse(delta(tool_calls=[call]), delta("tool_calls"))])


def answers(real: RealConsole, *replies: Answer) -> None:
    """Have the first backend reply so, one after the other."""
    waiting = [*replies]
    real.a.script = lambda _: waiting.pop(0)


async def send(real: RealConsole, message: str, *, tool: str = "") -> None:
    """Send a message in the playground, with a tool as its form offers it; wait for the end of the
    response.
    """
    await real.open("play")
    await real.page.wait_for(HAS_MODEL)
    if tool:
        await real.choose("Add a tool")
        await real.choose(tool)
        await real.page.see("Tool as JSON")
        await real.choose("Save")
        await real.page.wait_for("!document.querySelector('dialog')")
    await real.write(".compose textarea", message)
    await real.click(
        "[aria-label=Send]:enabled"
    )  # a dialog that closes may take the focus from the field
    await real.page.see("Open this response")


async def post(real: RealConsole, path: str, tenant: str = "acme", **sent: Any) -> dict[str, Any]:
    """Send a request with a key of a tenant; return the reply."""
    headers = await real.headers(tenant)
    async with real.server.http.post(f"{real.server.url}/{path}", headers=headers, **sent) as reply:
        found: dict[str, Any] = await reply.json()
        assert reply.status == 200, found
        return found


async def test_code_runs_and_its_container_is_opened_and_killed(
    real: RealConsole, tmp_path: Path
) -> None:
    code.skip_without_machines()
    await real.save_to(tmp_path)
    created = await real.server.built_with(code.settings())
    real.server.parts.run.toolset = created.run.toolset
    real.a.script = code.coding
    await real.sign_in()
    await send(
        real,
        "open('squares.csv', 'w').write('1,4,9'); print('twelve', 6 * 2)",
        tool="Code interpreter",
    )
    await real.page.see("twelve 12")
    assert await real.findings() == []
    await real.choose("Open this response")
    await real.page.see("Timeline")
    await real.page.see("twelve 12")
    await real.click("[aria-label^='Container cntr_']")
    await real.page.see("/mnt/data/squares.csv")
    await real.page.wait_for(f"{CALL}?.innerText.startsWith('open')")
    assert await real.findings() == []
    await real.click("[aria-label='Download squares.csv']")
    assert await real.saved(tmp_path / "squares.csv") == b"1,4,9"
    await real.click("[aria-label='Delete squares.csv']")
    await real.click(".btn.danger")
    await real.page.see("No files yet")
    await real.choose("Kill")
    await real.click("dialog .btn.danger")
    await real.page.see("No containers yet")
    await real.open("", shows="squares.csv")
    real.check()
    await created.run.toolset.close()


async def test_a_reader_manages_containers_of_its_tenant_and_an_administrator_all(
    real: RealConsole,
) -> None:
    created = {}
    for tenant in ("acme", "other"):
        created[tenant] = await post(real, "containers", tenant, json={"name": f"of {tenant}"})
        form = FormData()
        form.add_field("file", b"1,4,9", filename="squares.csv")
        await post(real, f"containers/{created[tenant]['id']}/files", tenant, data=form)
    await real.sign_in(Role.READ, path="containers")
    await real.page.see("of acme")
    assert "of other" not in await real.page.evaluate("document.querySelector('main').innerText")
    await real.choose("of acme")
    await real.page.see("5 B")
    await real.open(f"containers/{created['other']['id']}", shows="Try again")
    await real.page.evaluate("[...document.querySelectorAll('.account button')].at(-1).click()")
    await real.page.see("Sign in to Antiphon")
    await real.sign_in(path="containers")
    await real.page.wait_for(f"{ROWS} === 2")
    assert await real.findings() == []
    await real.choose("of other")
    await real.page.see("belongs to the tenant other")
    assert not await real.page.evaluate("document.querySelector('[aria-label^=Download]')")
    await real.choose("Kill")
    await real.click("dialog .btn.danger")
    await real.page.wait_for(f"{ROWS} === 1")
    real.check("404")


@pytest.mark.parametrize("hostile", CORPUS[:-1], ids=range(len(CORPUS) - 1))
async def test_hostile_output_of_code_does_nothing(real: RealConsole, hostile: str) -> None:
    cell = notebooks.cell(hostile, files=(notebooks.created("chart.png"),), figures=1)
    real.server.parts.run.toolset = Toolset(code=notebooks.Notebooks(cell))
    answers(
        real,
        calling("code_interpreter", {"code": hostile}),
        Answer([text("See sandbox:/mnt/data/chart.png")]),
    )
    await real.sign_in()
    await send(real, "Run it", tool="Code interpreter")
    await harmless(real)
    await real.choose("Open this response")
    await real.page.see("Timeline")
    await real.page.wait_for("document.querySelector('.sources .file-button') !== null")
    await harmless(real)
    await real.click(".sources .file-button")
    await real.page.wait_for("document.querySelector('.sources [role=alert]') !== null")
    real.check("404")


async def harmless(real: RealConsole) -> None:
    """Nothing has run or become an element but figures, and no page is wider than its window."""
    assert await real.page.evaluate("window.harm") is None
    found = await real.page.evaluate(
        f"[...document.querySelectorAll({ACTIVE!r})].map(each => each.outerHTML)"
    )
    assert [each for each in found if not each.startswith('<img src="data:image/png;')] == []
    for width in (320, 390, 1440):
        await real.page.resize(width)
        assert await real.fits(), width


async def test_an_image_is_generated_displayed_and_found_again(
    real: RealConsole, tmp_path: Path
) -> None:
    await real.save_to(tmp_path)
    async with images_server() as images:
        settings = Settings(images_backend=images.url, images_model="painter")
        created = await real.server.built_with(settings)
        real.server.parts.run.toolset = Toolset(images=created.run.toolset.images)
        answers(
            real,
            calling("image_generation", {"prompt": "a red circle"}),
            Answer([text("Here it is.")]),
        )
        await real.sign_in()
        await send(real, "Draw a red circle", tool="Image generation")
        await real.page.wait_for("document.querySelector('.item-picture img')?.naturalWidth > 0")
        alt = await real.page.evaluate("document.querySelector('.item-picture img').alt")
        assert alt == "a red circle"
        assert await real.findings() == []
        await real.choose("Open this response")
        await real.page.see("Timeline")
        await real.page.wait_for("document.querySelector('.item-picture img')?.naturalWidth > 0")
        await real.page.evaluate("document.querySelector('.item-picture .file-button').click()")
        assert (await real.saved(tmp_path / "image.png")).startswith(b"\x89PNG")
        await real.server.parts.run.toolset.close()
        await created.images.close()
    real.check()


async def test_a_prompt_is_sent_with_its_variables(real: RealConsole) -> None:
    prompt = await post(
        real,
        "prompts",
        json={"name": "help", "instructions": "You help {{ customer }}.", "model": "m"},
    )
    await real.sign_in(path="play")
    await real.page.wait_for(HAS_MODEL)
    await real.write("[placeholder='pmpt_…']", prompt["id"])
    await real.write('[placeholder=\'{"city": "Rome"}\']', '{"customer": "Ada"}')
    await real.send_message("When?")
    await real.page.see("Open this response")
    system, user = real.a.requests[-1]["messages"]
    assert (system["content"], user["content"]) == ("You help Ada.", "When?")
    await real.choose("Open this response")
    await real.choose("Fork")
    await real.page.wait_for("document.querySelector('.source')?.textContent.includes('Ada')")
    real.check()
