"""What counts as lost."""

import random
from pathlib import Path
from typing import Any, cast

from antiphon.trust.acknowledged import lost, unfinished
from antiphon.trust.model import TEXT
from antiphon.trust.place import Place, Server

SERVER = cast("Server", None)


class Store(Place):
    """A place whose servers have these responses."""

    def __init__(self, replies: dict[str, tuple[int, Any]]) -> None:
        super().__init__(Path(), "", "", "", 1.0, random.Random(1), cast("Any", None))
        self.replies = replies

    async def send(
        self, server: Server, method: str, path: str, body: Any = None
    ) -> tuple[int, Any]:
        return self.replies.get(path.removeprefix("/responses/"), (404, {"error": {}}))


def response(text: str, status: str = "completed") -> tuple[int, Any]:
    content = [{"type": "output_text", "text": text}]
    return 200, {"status": status, "output": [{"type": "message", "content": content}]}


async def test_a_response_is_lost_if_it_is_not_there_or_not_whole() -> None:
    store = Store({"whole": response(TEXT), "cut": response(TEXT[:-1])})

    assert await lost(store, SERVER, ["whole", "cut", "gone"]) == ["cut", "gone"]


async def test_a_background_response_is_broken_if_it_fails_or_never_ends() -> None:
    store = Store(
        {
            "whole": response(TEXT),
            "failed": response("", "failed"),
            "late": response("", "in_progress"),
        }
    )

    assert await unfinished(store, SERVER, ["whole", "failed", "late"], 0.01) == ["failed", "late"]
