"""Chromium without a window, driven over the DevTools protocol.

To start it takes a second of CPU, so there is one for each process of pytest. A page has a context
of its own in it, as a private window has: it shares no cookies, storage or cache with the pages of
other tests.
"""

import asyncio
import atexit
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

from tests.support.cpu import clock
from tests.support.programs import find, needs
from tests.support.waiting import eventually

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
)
PATIENCE = 30.0
"""Seconds that a page has for what is expected of it; a busy machine may need some of them."""

LISTENING = re.compile(rb"DevTools listening on (\S+)")

KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, " ": 32,
    "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35,
}  # fmt: skip

# The shell is the same browser without what draws windows and menus: a page costs half of the CPU
# in it.
found = find("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

needs_browser = needs(found, "chromium")


class PageError(Exception):
    """A script of a test failed in the page."""


class Page:
    """One page: what a test does with it, and what it complained of and requested."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._session = ""
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.complaints: list[str] = []
        """Errors of the console, uncaught exceptions and reports of the Content-Security-Policy."""
        self.requests: list[str] = []
        """The URLs of all requests."""

    def hosts(self) -> set[str]:
        """The hosts that were requested."""
        return {urlsplit(url).netloc for url in self.requests if url.startswith("http")}

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        number = self._number
        self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.send(
            json.dumps(message | ({"sessionId": self._session} if self._session else {}))
        )
        return await asyncio.wait_for(self._waiting[number], PATIENCE)

    async def open(self) -> None:
        """Open an empty page in a context of its own, and listen to it."""
        context = await self.send("Target.createBrowserContext", disposeOnDetach=True)
        place = {"browserContextId": context["browserContextId"]}
        target = await self.send("Target.createTarget", url="about:blank", **place)
        attached = await self.send(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.send(f"{domain}.enable")

    async def listen(self) -> None:
        """Read what the browser says until it ends."""
        async for text in self._socket:
            message = json.loads(text)
            if (
                waiting := self._waiting.pop(message.get("id", 0), None)
            ) is not None and not waiting.done():
                if "error" in message:
                    waiting.set_exception(PageError(message["error"]["message"]))
                else:
                    waiting.set_result(message["result"])
            elif "method" in message:
                self._take(message["method"], message["params"])

    def _take(self, method: str, fields: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(fields["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = fields["exceptionDetails"]
            self.complaints.append(
                details.get("exception", {}).get("description") or details["text"]
            )
        elif method == "Runtime.consoleAPICalled" and fields["type"] in {
            "error",
            "warning",
            "assert",
        }:
            self.complaints.append(
                " ".join(str(each.get("value", each)) for each in fields["args"])
            )
        elif method == "Log.entryAdded" and fields["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(f"{fields['entry']['text']} {fields['entry'].get('url', '')}")

    async def goto(self, url: str) -> None:
        """Open an address."""
        await self.send("Page.navigate", url=url)

    async def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression, awaited. Raises `PageError`."""
        done = await self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if details := done.get("exceptionDetails"):
            raise PageError(details.get("exception", {}).get("description") or details["text"])
        return done["result"].get("value")

    async def wait_for(self, script: str) -> Any:
        """Return the value of an expression once it is true."""

        async def request() -> Any:
            with suppress(PageError):
                return await self.evaluate(script)

        return await eventually(request)

    async def see(self, text: str) -> None:
        """Wait until the page shows a text."""
        try:
            await self.wait_for(f"document.body?.innerText.includes({json.dumps(text)})")
        except TimeoutError:
            displayed = await self.evaluate("document.body?.innerText")
            raise AssertionError(f"The page does not show {text!r}: {displayed}") from None

    async def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        common = {
            "key": key,
            "code": key,
            "modifiers": 8 if shift else 0,
            "windowsVirtualKeyCode": KEYS.get(key, 0),
        }
        await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    async def type(self, text: str) -> None:
        """Type a text into what has the focus."""
        await self.send("Input.insertText", text=text)

    async def resize(self, width: int, height: int = 900, *, scale: float = 1) -> None:
        """Give the page a size in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 500}
        await self.send("Emulation.setDeviceMetricsOverride", **size)

    async def prefer(self, scheme: str, *, forced_colors: bool = False) -> None:
        """Prefer the `light` or the `dark` colour scheme, or force the few colours of the
        system.
        """
        forced = {"name": "forced-colors", "value": "active" if forced_colors else "none"}
        features = [{"name": "prefers-color-scheme", "value": scheme}, forced]
        await self.send("Emulation.setEmulatedMedia", features=features)

    async def screenshot(self, *, whole: bool = False, form: str = "png") -> bytes:
        """Return a picture of what is visible, or of the whole page, as PNG or in another form that
        browsers have.
        """
        quality = {} if form == "png" else {"quality": 80}
        taken = await self.send(
            "Page.captureScreenshot", captureBeyondViewport=whole, format=form, **quality
        )
        return base64.b64decode(taken["data"])


class Browser:
    """The process; it runs until the tests end."""

    def __init__(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        command = [
            str(found),
            *FLAGS,
            "--remote-debugging-port=0",
            f"--user-data-dir={self._profile}",
            "about:blank",
        ]
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, start_new_session=True
        )
        atexit.register(self._end)
        clock.watch(self._process.pid)
        assert self._process.stderr is not None
        stated = iter(self._process.stderr)
        self.address = next(
            (where[1].decode() for line in stated if (where := LISTENING.search(line))), ""
        )
        """Where it listens; empty if it ended."""
        threading.Thread(target=lambda: [*stated], daemon=True).start()

    def _end(self) -> None:
        # The command may be a script that waits for Chromium, which sometimes ignores SIGTERM.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)


@cache
def _browser() -> Browser:
    return Browser()


@asynccontextmanager
async def a_page() -> AsyncIterator[Page]:
    """An empty page that shares nothing with others; it goes with the connection that made it."""
    browser = await asyncio.to_thread(_browser)
    assert browser.address, "Chromium ended before it listened."
    async with connect(browser.address, max_size=None, compression=None) as socket:
        page = Page(socket)
        listening = asyncio.create_task(page.listen())
        try:
            await page.open()
            yield page
        finally:
            listening.cancel()
