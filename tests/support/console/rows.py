"""Summaries of responses as `/admin/v1/responses` lists them."""

import json
from pathlib import Path
from typing import Any


def summary(name: str, *, started_ms: int, **changes: Any) -> dict[str, Any]:
    """Return a summary of a completed response.

    `changes` replace fields; `tokens` are those of the input, of it cached, of the output, and of
    it reasoning.
    """
    before, cached, after, thought = changes.pop("tokens", (120, 0, 40, 0))
    row: dict[str, Any] = {
        "id": f"resp_{name}",
        "request_id": f"req_{name}",
        "object": "response.summary",
        "created_at": started_ms // 1000,
        "started_ms": started_ms,
        "status": "completed",
        "error_code": None,
        "error_message": None,
        "model": "qwen3-32b",
        "served_model": None,
        "backend": "gpu-b",
        "tenant": "acme",
        "api_key_id": "key_1",
        "api_key_name": "build",
        "previous_response_id": None,
        "conversation_id": None,
        "store": True,
        "stream": True,
        "background": False,
        "completion_window": None,
        "websocket": False,
        "cached": False,
        "tools": [],
        "calls": 1,
        "attempts": 1,
        "duration_ms": 1000,
        "queue_ms": 0,
        "first_token_ms": 300,
        "usage_is_estimated": False,
        "request_bytes": 1900,
        "input": name,
        "output": "Done.",
        "cost": 0.0041,
        "usage": {
            "input_tokens": before,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": after,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": before + after,
        },
    } | changes
    row["completed_at"] = (
        None if row["duration_ms"] is None else (started_ms + row["duration_ms"]) // 1000
    )
    return row


SAMPLES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "rows.json").read_text("utf-8"))
"""Rows of every status; `ago` is the seconds since each began."""


def samples(now_ms: int) -> list[dict[str, Any]]:
    """Return rows of every status, the newest first."""
    rows = []
    for sample in SAMPLES:
        changes = dict(sample)
        name = changes.pop("name")
        ago = changes.pop("ago")
        rows.append(summary(name, started_ms=now_ms - ago * 1000, **changes))
    return rows
