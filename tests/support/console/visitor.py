"""A reader of the console: a page of a browser at a server's console."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.browser import Page
from tests.support.console.bundle import AXE

WIDER = """
[...document.querySelectorAll('main *')].filter(each => {
  if (each.children.length) return false;
  const range = document.createRange();
  range.selectNodeContents(each);
  for (let box = each; box; box = box.parentElement) if (getComputedStyle(box).overflowX !== 'visible') return false;
  return range.getBoundingClientRect().right > screen.width;
}).map(each => `${each.tagName}.${each.className}: ${each.textContent.slice(0, 40)}`)
"""  # noqa: E501 - the lines of a text
"""The elements whose content reaches beyond the window and is not cut."""


@dataclass
class Visitor:
    """A page of a browser, and the URL of the console that it shows."""

    page: Page
    url: str

    async def open(self, path: str = "", *, shows: str = "") -> None:
        """Open a page, and wait until it shows a text."""
        await self.page.goto("about:blank")
        await self.page.goto(self.url + path)
        await self.page.wait_for(
            "document.querySelector('h1') && !document.querySelector('.loading, [aria-busy=true]')"
        )
        if shows:
            await self.page.see(shows)

    async def click(self, selector: str) -> None:
        """Click what a selector finds, once it is there."""
        await self.page.wait_for(
            f"document.querySelector({selector!r}) && "
            f"(document.querySelector({selector!r}).click(), true)"
        )

    async def choose(self, text: str) -> None:
        """Click the button or link with a text, once it is there."""
        find = (
            "[...document.querySelectorAll('button, a')].find(each => "
            f"each.innerText?.trim() === {text!r})"
        )
        await self.page.wait_for(f"{find} && ({find}.click(), true)")

    async def write(self, selector: str, text: str) -> None:
        """Replace the text of a field, once its dialog is open and it takes the focus."""
        await self.page.wait_for(
            "(field => field && (field.focus(), field.select(), "
            f"document.activeElement === field))(document.querySelector({selector!r}))"
        )
        await self.page.type(text)

    async def present(self, key: str, *, shows: str = "") -> None:
        """Present an API key in the form of the sign-in, once the page shows a text."""
        if shows:
            await self.page.see(shows)
        await self.write(".sign-in input", key)
        await self.page.press("Enter")

    async def send_message(self, text: str) -> None:
        """Write a message in the playground, and send it once its model is known."""
        await self.write(".compose textarea", text)
        await self.page.wait_for("document.querySelector('[aria-label=Send]:enabled') !== null")
        await self.page.press("Enter")

    async def attach(self, *paths: Path, selector: str = "input[type=file]") -> None:
        """Choose files of this machine in a field, as the dialog of the browser does."""
        await self.page.wait_for(f"document.querySelector({selector!r}) !== null")
        document = await self.page.send("DOM.getDocument")
        place = {"nodeId": document["root"]["nodeId"], "selector": selector}
        node = (await self.page.send("DOM.querySelector", **place))["nodeId"]
        await self.page.send(
            "DOM.setFileInputFiles", files=[str(path) for path in paths], nodeId=node
        )

    async def block(self, *paths: str) -> None:
        """Have requests for these paths of the server fail, and for no others; `*` is any text."""
        blocked = [f"*{path}" for path in paths]
        await self.page.send("Network.setBlockedURLs", urls=blocked)

    async def save_to(self, folder: Path) -> None:
        """Have the browser save files in a folder."""
        await self.page.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    async def saved(self, path: Path) -> bytes:
        """Wait until the browser has saved a file; return its content."""
        async with asyncio.timeout(30):
            while not await asyncio.to_thread(path.exists):
                await self.page.evaluate("new Promise(done => setTimeout(done, 20))")
        return await asyncio.to_thread(path.read_bytes)

    async def findings(self) -> list[str]:
        """Return what axe-core finds wrong with the page.

        Its script is evaluated, so no policy is loosened for it.
        """
        await self.page.evaluate(f"{AXE.read_text()}; true")
        run = (
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', "
            "'best-practice'], rules: {'label-content-name-mismatch': {enabled: true}}})"
        )
        displayed = (
            "r => r.violations.flatMap(v => v.nodes.map(n => `${v.id}: ${n.target} "
            "${n.failureSummary}`))"
        )
        found: list[str] = await self.page.evaluate(f"{run}.then({displayed})")
        return found

    async def fits(self) -> bool:
        """Whether the page becomes as narrow as its window: after a new size it is laid out again.

        Raises:
            AssertionError: it does not; names what reaches beyond the window.
        """
        try:
            await self.page.wait_for(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            )
        except TimeoutError:
            raise AssertionError(
                f"wider than the window: {await self.page.evaluate(WIDER)}"
            ) from None
        return True

    def check(self, *expected: str) -> None:
        """No error in the browser's console, no report of the policy, and no request to another
        host.

        The browser also reports each reply with an error there; `expected` are words of reports
        that a test provokes.
        """
        complaints = [
            line for line in self.page.complaints if not any(words in line for words in expected)
        ]
        assert complaints == [], complaints
        assert self.page.hosts() <= {urlsplit(self.url).netloc}
