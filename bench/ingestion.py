"""How quickly a text becomes searchable in a vector store, without embeddings."""

import json
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from random import Random
from typing import Any

from bench.forms import CONTENT_TYPE, TAIL, head
from bench.process import cpu_of_all
from bench.report import OURS, Reading
from bench.server import RunningServer

SIZE = 8
"""Millions of characters of the text."""

WORDS, LONGEST = 20_000, 9
"""Different words of the text, and the letters of the longest."""

POLL_INTERVAL = 0.1

_HEAD = head("assistants", "bench.txt")


def ingestion(store: str, server: RunningServer, size: int = SIZE) -> Iterator[Reading]:
    """Ingest a text, first a small one, so that nothing is loaded in the time that counts."""
    ingest(server.port, text(0.01))
    content = text(size)
    used = cpu_of_all(server.pid)
    began = time.perf_counter()
    ingest(server.port, content)
    took = time.perf_counter() - began
    used = cpu_of_all(server.pid) - used
    million = len(content) / 1e6
    yield f"ingestion of text, {store}, MB/s", OURS, million / took
    yield f"ingestion of text, {store}, MB per CPU second", OURS, million / used


def text(millions: float) -> bytes:
    """Return lines of made-up words, the same every time."""
    random = Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(random.choices(letters, k=random.randint(3, LONGEST))) for _ in range(WORDS)]
    count = int(millions * 1e6 / 7)
    chosen = random.choices(words, k=count)
    return "".join(
        f"{word}\n" if i % 12 == 11 else f"{word} " for i, word in enumerate(chosen)
    ).encode()


def ingest(port: int, content: bytes) -> None:
    """Upload a text, attach it, and wait for its end. Raises `RuntimeError` where it fails."""
    form = {"content-type": CONTENT_TYPE}
    file = requested(port, "POST", "/v1/files", _HEAD + content + TAIL, form)["id"]
    store = requested(port, "POST", "/v1/vector_stores", json.dumps({"file_ids": [file]}).encode())[
        "id"
    ]
    while (found := requested(port, "GET", f"/v1/vector_stores/{store}/files/{file}"))[
        "status"
    ] == "in_progress":
        time.sleep(POLL_INTERVAL)
    if found["status"] != "completed":
        raise RuntimeError(f"the ingestion ended with {found['last_error']}")


def requested(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> Any:
    """Return the JSON of an answer. Raises `RuntimeError` for another status than 200."""
    connection = HTTPConnection("127.0.0.1", port)
    try:
        connection.request(method, path, body, headers or {"content-type": "application/json"})
        reply = connection.getresponse()
        answer = reply.read()
    finally:
        connection.close()
    if reply.status != 200:
        raise RuntimeError(f"{method} {path} was answered with {answer[:200]!r}")
    return json.loads(answer)
