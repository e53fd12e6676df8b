"""Chromium without a window, driven over the DevTools protocol."""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

from tests.support.programs import find, needs

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
PATIENCE = 30.0
"""Seconds that a page has for what is expected of it; a busy machine may need some of them."""

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, " ": 32}

found = find("chromium", "chromium-browser", "google-chrome")

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
        await self._socket.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        return await asyncio.wait_for(self._waiting[number], PATIENCE)

    async def open(self) -> None:
        """Open an empty page and listen to it."""
        target = await self.send("Target.createTarget", url="about:blank")
        attached = await self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.send(f"{domain}.enable")

    async def listen(self) -> None:
        """Read what the browser says until it ends."""
        async for text in self._socket:
            message = json.loads(text)
            if (waiting := self._waiting.pop(message.get("id", 0), None)) is not None and not waiting.done():
                if "error" in message:
                    waiting.set_exception(PageError(message["error"]["message"]))
                else:
                    waiting.set_result(message["result"])
            elif "method" in message:
                self._take(message["method"], message["params"])

    def _take(self, method: str, said: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and said["type"] in {"error", "warning", "assert"}:
            self.complaints.append(" ".join(str(each.get("value", each)) for each in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")

    async def goto(self, url: str) -> None:
        """Open an address."""
        await self.send("Page.navigate", url=url)

    async def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression, awaited. Raises `PageError`."""
        done = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if details := done.get("exceptionDetails"):
            raise PageError(details.get("exception", {}).get("description") or details["text"])
        return done["result"].get("value")

    async def wait_for(self, script: str) -> Any:
        """Return the value of an expression once it is true."""
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(PageError):
                    if value := await self.evaluate(script):
                        return value
                await asyncio.sleep(0.02)

    async def see(self, text: str) -> None:
        """Wait until the page shows a text."""
        try:
            await self.wait_for(f"document.body?.innerText.includes({json.dumps(text)})")
        except TimeoutError:
            shown = await self.evaluate("document.body?.innerText")
            raise AssertionError(f"The page does not show {text!r}: {shown}") from None

    async def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        common = {"key": key, "code": key, "modifiers": 8 if shift else 0, "windowsVirtualKeyCode": KEYS.get(key, 0)}
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
        """Prefer the `light` or the `dark` colour scheme, or force the few colours of the system."""
        forced = {"name": "forced-colors", "value": "active" if forced_colors else "none"}
        features = [{"name": "prefers-color-scheme", "value": scheme}, forced]
        await self.send("Emulation.setEmulatedMedia", features=features)

    async def screenshot(self, *, whole: bool = False, form: str = "png") -> bytes:
        """Return a picture of what is visible, or of the whole page, as PNG or in another form that browsers have."""
        quality = {} if form == "png" else {"quality": 80}
        taken = await self.send("Page.captureScreenshot", captureBeyondViewport=whole, format=form, **quality)
        return base64.b64decode(taken["data"])


@asynccontextmanager
async def a_page(folder: Path) -> AsyncIterator[Page]:
    """An empty page in a browser of its own, with its profile in `folder`."""
    command = [str(found), *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}", "about:blank"]
    browser = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    listening: asyncio.Task[None] | None = None
    try:
        async with connect(await _address(browser), max_size=None, compression=None) as socket:
            page = Page(socket)
            listening = asyncio.create_task(page.listen())
            await page.open()
            yield page
            listening.cancel()
    finally:
        with suppress(ProcessLookupError):
            browser.kill()  # Chromium sometimes ignores SIGTERM; its profile is thrown away
        await browser.wait()


async def _address(browser: asyncio.subprocess.Process) -> str:
    assert browser.stderr is not None
    async with asyncio.timeout(PATIENCE):
        async for line in browser.stderr:
            if listening := re.search(rb"DevTools listening on (\S+)", line):
                return listening[1].decode()
    raise AssertionError("Chromium ended before it listened.")
