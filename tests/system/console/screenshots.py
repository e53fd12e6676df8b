"""Pictures of every page of the console: `python -m tests.system.console.screenshots [PAGE...]`.

Each page in both colour schemes at 1440 and at 390 pixels. `--docs` renews the pictures of the
documentation instead, which are small and are committed.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import product
from pathlib import Path

from tests.support.browser import Page, a_page
from tests.support.console import admin, one
from tests.support.console.containers import CONTAINER, created, making
from tests.support.console.routes import ROUTES
from tests.support.console.rows import samples
from tests.support.console.server import MockServer, serving_console

DOCS = Path(__file__).parents[3] / "docs"
FOLDER = DOCS / "_build/screenshots"


async def ready(page: Page) -> None:
    """Wait until a page shows its data."""
    await page.wait_for(
        "document.querySelector('h1') && !document.querySelector('.loading, [aria-busy=true]')"
    )
    await page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


async def play(page: Page) -> None:
    """Send a message in the playground, without the conversation of the picture before."""
    await ready(page)
    await page.evaluate(
        "[...document.querySelectorAll('button')]"
        ".find(each => each.innerText === 'New conversation')?.click()"
    )
    await page.evaluate("document.querySelector('.compose textarea').focus()")
    await page.type("Is it issue 431? If it is fixed, close it.")
    await page.evaluate("document.querySelector('[aria-label=Send]').click()")
    await ready(page)


async def report(page: Page) -> None:
    """Open the newest report, and its third area."""
    await ready(page)
    await page.evaluate("document.querySelector('.row-name a').click()")
    await page.see("Changes")
    await page.evaluate("document.querySelectorAll('.area summary')[2].click()")
    await ready(page)


async def search(page: Page) -> None:
    """Search a vector store."""
    await ready(page)
    await page.evaluate("document.querySelector('[type=search]').focus()")
    await page.type("which issues block the release")
    await page.press("Enter")
    await page.see("0.913")
    await ready(page)


async def tool(page: Page) -> None:
    """Open the form of a file search; on a phone the settings come first."""
    await ready(page)
    await page.evaluate("document.querySelector('.settings-toggle').click()")
    await page.evaluate("document.querySelector(\"[aria-label='Edit file_search']\").click()")
    await page.see("Contracts")
    await ready(page)


async def imagine(page: Page) -> None:
    """Generate an image in the playground, as far as a part of it."""
    await play(page)
    await page.see("Partial image")


async def code_tool(page: Page) -> None:
    """Open the form of the code interpreter; on a phone the settings come first."""
    await ready(page)
    await page.evaluate("document.querySelector('.settings-toggle').click()")
    await page.evaluate("document.querySelector(\"[aria-label='Add a tool']\").click()")
    await page.see("Code interpreter")
    await page.evaluate(
        "[...document.querySelectorAll('[role=menuitem]')].find(e => "
        "e.innerText.startsWith('Code')).click()"
    )
    await page.see("Memory limit")
    await ready(page)


PAGES: dict[str, tuple[str, Callable[[Page], Awaitable[None]]]] = {
    **{route: (route, ready) for route in ROUTES if route not in {"", "r", "compare", "play"}},
    "responses": ("", ready),
    "response": ("r/resp_7e08", ready),
    "playground": ("play", play),
    "stores": ("files/stores", ready),
    "store": ("files/vs_1", search),
    "file search": ("play?store=vs_1", tool),
    "container": (f"containers/{CONTAINER}", ready),
    "code": ("r/resp_7e08", ready),
    "image": ("play", imagine),
    "code tool": ("play", code_tool),
    "comparison": ("compare?a=resp_7e08&b=resp_0004", ready),
    "compare": ("conformance/compare", ready),
    "report": ("conformance", report),
    "usage by key": ("usage?by=key&days=30", ready),
    "speed": ("usage?by=backend&measure=speed", ready),
    "conversation": ("conversations/conv_1", ready),
}


def prepare_server(server: MockServer, name: str) -> None:
    """Give the server what a picture shows."""
    server.output = created() if name in ("code", "container") else one.output()
    server.script = (
        making({"id": "resp_play", "status": "in_progress"}) if name == "image" else None
    )
    server.rows = samples(int(time.time() * 1000))
    if name == "usage by key":
        server.known_keys = [admin.key("build", budget_per_day="0.05", budget_per_month="1")]
    if name == "container":
        next(row for row in server.rows if row["id"] == "resp_7e08")["tools"] = ["code_interpreter"]


DISPLAYED = ("responses", "response", "store", "container")
"""Pages whose pictures the documentation has."""


async def take_for_docs() -> AsyncIterator[tuple[str, bytes]]:
    """Yield the name of each picture of the documentation, and the picture."""
    server = MockServer()
    async with serving_console(server) as url, a_page() as page:
        await page.resize(1440)
        await page.prefer("light")
        for name in DISPLAYED:
            path, prepare = PAGES[name]
            prepare_server(server, name)
            await page.goto(url + path)
            await prepare(page)
            await page.evaluate("new Promise(done => setTimeout(done, 400))")
            yield f"console-{name}.webp", await page.screenshot(form="webp")


async def take(names: list[str]) -> AsyncIterator[tuple[str, bytes]]:
    """Yield the name of each picture, and the picture."""
    server = MockServer()
    async with serving_console(server) as url, a_page() as page:
        for name in names or PAGES:
            path, prepare = PAGES[name]
            prepare_server(server, name)
            for width, scheme in product((1440, 390), ("light", "dark")):
                await page.resize(width)
                await page.prefer(scheme)
                await page.goto(url + path)
                await prepare(page)
                await page.evaluate("new Promise(done => setTimeout(done, 400))")
                picture = await page.screenshot(whole=width > 500 and name in ("response", "store"))
                yield f"{name}-{'phone-' if width < 500 else ''}{scheme}.png", picture
        print("\n".join(page.complaints), end="")


async def main() -> None:
    """Save the pictures of the pages that the command line names, or of all."""
    names = sys.argv[1:]
    folder, pictures = (
        (DOCS / "images", take_for_docs()) if names == ["--docs"] else (FOLDER, take(names))
    )
    folder.mkdir(parents=True, exist_ok=True)
    async for name, picture in pictures:
        (folder / name).write_bytes(picture)
    print(folder)


if __name__ == "__main__":
    asyncio.run(main())
