"""A real browser without a window, where one is installed, and what it asks of the network."""

import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.browser import FLAGS, found

PATIENCE = 100.0
"""Seconds for a page; a busy machine may need some of them."""


class RecordingServer(socketserver.ThreadingTCPServer):
    """A proxy that answers nothing and remembers which hosts of a test it was asked for: the
    browser has its own.
    """

    daemon_threads = True
    hosts: set[str]


class Listening(socketserver.StreamRequestHandler):
    server: RecordingServer

    def handle(self) -> None:
        method, _, rest = self.rfile.readline().decode("latin-1").partition(" ")
        address = rest.partition(" ")[0]
        host = urlsplit(f"//{address}" if method == "CONNECT" else address).hostname or ""
        if host.endswith(".example"):
            self.server.hosts.add(host)


@dataclass
class Browser:
    folder: Path
    proxy: RecordingServer

    def dom(self, page: str) -> str:
        """Show a page of this source and return it as the browser has it then."""
        file = self.folder / "page.html"
        file.write_text(page, "utf-8")
        port = self.proxy.server_address[1]
        proxied = (f"--proxy-server=127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>")
        command = [
            str(found),
            *FLAGS,
            *proxied,
            f"--user-data-dir={self.folder / 'profile'}",
            "--dump-dom",
        ]
        done = subprocess.run(
            [*command, file.as_uri()], capture_output=True, timeout=PATIENCE, check=True
        )
        return done.stdout.decode()


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A browser for whom every host of the network is a proxy that answers nothing."""
    with RecordingServer(("127.0.0.1", 0), Listening) as proxy:
        proxy.hosts = set()
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,))
        thread.start()
        yield Browser(folder, proxy)
        proxy.shutdown()
        thread.join()
