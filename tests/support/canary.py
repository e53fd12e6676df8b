"""A word that nobody must repeat, and everything from outside in which it could be repeated."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO

from antiphon.http_server.host import silence_uvicorn
from antiphon.telemetry.formatters import JsonLines, TextLines
from antiphon.telemetry.metrics import Measures
from tests.support.server import RunningServer
from tests.support.spans import Seen

CANARY = "ca7ary"


@dataclass
class Watched:
    """What a server tells outside: its log in both forms, its spans, and what it counts."""

    text: StringIO = field(default_factory=StringIO)
    json: StringIO = field(default_factory=StringIO)
    spans: Seen = field(default_factory=Seen)
    measures: Measures = field(default_factory=Measures)

    @property
    def log(self) -> str:
        """Its log."""
        return self.text.getvalue()

    async def everything(self, server: RunningServer) -> str:
        """All that it tells."""
        async with server.http.get(server.url.removesuffix("/v1") + "/metrics") as response:
            assert response.status == 200
            counted = await response.text()
        spans = "".join(span.to_json() for span in self.spans.spans())
        return "\n".join([self.log, self.json.getvalue(), spans, counted])


@contextmanager
def watching() -> Iterator[Watched]:
    """Take down the log, with a line for every request, as long as the block lasts."""
    watched = Watched()
    root = logging.getLogger()
    access = logging.getLogger("antiphon.access")
    before = root.level, access.level
    handlers = [logging.StreamHandler(watched.text), logging.StreamHandler(watched.json)]
    handlers[0].setFormatter(TextLines())
    handlers[1].setFormatter(JsonLines())
    silence_uvicorn()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel("INFO")
    access.setLevel("INFO")
    try:
        yield watched
    finally:
        for handler in handlers:
            root.removeHandler(handler)
        root.setLevel(before[0])
        access.setLevel(before[1])
