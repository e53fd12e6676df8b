"""Requests that clients of the Messages API sent, where they are at hand; see `recordings.py`."""

import json
from pathlib import Path
from typing import Any

from tests.support.messages_requests import PNG
from tests.support.recordings import FOLDER

REQUESTS = sorted((FOLDER / "messages").glob("*.request.json"))
CASES = sorted((FOLDER.parent / "cases" / "fronts").glob("0[1-8]*.json"))
SHAPES = sorted((FOLDER.parent / "clients" / "claude-code").glob("*.shape.jsonl"))


def name(path: Path) -> str:
    return path.name


def claude_code_bodies() -> list[tuple[str, dict[str, Any]]]:
    """The bodies that Claude Code sent, with something valid for each part of which only the size
    is known.
    """
    found = []
    for path in SHAPES:
        for line in path.read_text().splitlines():
            exchange = json.loads(line)
            provided = exchange["body"]
            if isinstance(provided, dict) and "/messages" in exchange["path"]:
                provided["tools"] = [
                    {
                        **tool,
                        **({"input_schema": {"type": "object"}} if "input_schema" in tool else {}),
                    }
                    for tool in provided.get("tools") or []
                ]
                _fill_in(provided)
                found.append((f"{path.stem} {exchange['path']} {len(found)}", provided))
    return found


def _fill_in(value: Any) -> None:
    """Put a picture in place of data of which only the size is known."""
    if isinstance(value, list):
        for each in value:
            _fill_in(each)
    elif isinstance(value, dict):
        if value.get("type") == "base64":
            value |= {"media_type": "image/png", "data": PNG}
        for each in value.values():
            _fill_in(each)


SENT = claude_code_bodies()
"""The path and the body of each request."""
