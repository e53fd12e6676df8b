"""Real streams and canonical traces, where they are."""

import json
from pathlib import Path
from typing import Any

from tests.support.recordings import FOLDER

TRACES = FOLDER.parent / "spec" / "traces"


def traces() -> list[Path]:
    return sorted(TRACES.glob("*.jsonl"))


def recordings() -> list[Path]:
    return sorted((FOLDER / "responses").glob("*.sse"))


def read_trace(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_sse(path: Path) -> list[dict[str, Any]]:
    """Each frame's JSON; comments, event names and `[DONE]` are left out."""
    frames = path.read_bytes().decode().replace("\r\n", "\n").split("\n\n")
    data = [
        "\n".join(line[5:] for line in frame.split("\n") if line.startswith("data:"))
        for frame in frames
    ]
    return [json.loads(text) for text in data if text.strip() not in ("", "[DONE]")]


def responses(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Cut a file into streams: one fixture holds several, one after the other."""
    starts = [place for place, each in enumerate(events) if each["type"] == "response.created"]
    return [
        events[start:end] for start, end in zip(starts, [*starts[1:], len(events)], strict=True)
    ]
