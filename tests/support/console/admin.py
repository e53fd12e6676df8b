"""What the other pages read: backends, usage, webhooks, keys and conversations."""

import time
from datetime import UTC, datetime
from typing import Any

DAY = 86_400


def listed(data: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a list with one page."""
    ids = [each.get("id") for each in data] or [None]
    return {
        "object": "list",
        "data": data,
        "first_id": ids[0],
        "last_id": ids[-1],
        "has_more": False,
    }


def backend(name: str, **changes: Any) -> dict[str, Any]:
    """Return a healthy backend; `changes` replace fields."""
    return {
        "name": name,
        "dialect": "vllm",
        "health": "up",
        "rests_for": 0.0,
        "in_flight": 2,
        "concurrency": 8,
        "waiting": 0,
        "queue": 64,
        "oldest_wait": 0.0,
        "asked": 1204,
        "failed": 3,
        "ejections": 0,
        "prompt_bytes": 1000,
        "prompt_reused_bytes": 620,
        "prompt_breaks": 2,
        "last_prompt_break": "",
        "models": ["qwen3-32b"],
        "loaded": ["qwen3-32b"],
        "error": "",
        "last_error": "",
        "last_error_ago": None,
        "checked_ago": 4.0,
        "next_check": 6.0,
    } | changes


def backends() -> dict[str, Any]:
    """Return three backends: one that is up, one that had an error, one that is out."""
    facts = {
        "context_window": 131072,
        "tools": True,
        "parallel_tool_calls": True,
        "images": False,
        "schemas": "json_schema",
    }
    refused = "connection refused at http://10.0.0.7:8000/v1"
    found = [
        backend(
            "gpu-a",
            models=["qwen3-coder", "qwen3-vl"],
            last_error="503 overloaded",
            last_error_ago=95.0,
        ),
        backend("gpu-b", in_flight=6, waiting=2),
        backend(
            "gpu-c",
            health="out",
            rests_for=24.0,
            in_flight=0,
            error=refused,
            models=["deepseek-r1"],
            loaded=None,
        ),
    ]
    profiles = [{"backend": "gpu-b", "model": "qwen3-32b", "facts": facts}]
    counts = {"workers": 2, "responses_in_flight": 8}
    return {
        "object": "backends",
        **counts,
        "backends": found,
        "code": None,
        "agents": None,
        "profiles": profiles,
    }


def lessons() -> list[dict[str, Any]]:
    """Return a lesson for everyone, and one for a tenant."""
    now = int(time.time())
    common = {"object": "lesson", "backend": "gpu-a", "model": "qwen3-coder"}
    return [
        {
            "id": "lesson_1",
            "tenant": None,
            "name": "top_p",
            "said": "Unsupported parameter: 'top_p' is not supported with this model.",
            "learned_at": now - 300,
            "expires_at": now - 300 + DAY,
        }
        | common,
        {
            "id": "lesson_2",
            "tenant": "acme",
            "name": "temperature=1.9",
            "said": "",
            "learned_at": now - 7200,
            "expires_at": now - 7200 + DAY,
        }
        | common,
    ]


def deferred() -> list[dict[str, Any]]:
    """Return a response that waits for an idle slot, and one that can use any."""
    now = int(time.time())
    return [
        {
            "object": "deferred_response",
            "id": f"resp_late{at}",
            "tenant": "acme",
            "api_key_id": "key_build",
            "model": "qwen3-32b",
            "completion_window": "2h",
            "created_at": begin_by - 5400,
            "begin_by": begin_by,
            "due_at": begin_by + 1800,
            "waits_for": waits_for,
            "attempts": at,
            "crashes": at,
            "input_preview": text,
        }
        for at, (begin_by, waits_for, text) in enumerate(
            (
                (now + 3000, "idle_slot", "Sum up the tickets of the last week"),
                (now - 60, "any_slot", "Translate the handbook"),
            )
        )
    ]


def usage(now: float) -> dict[str, Any]:
    """Return the usage of two keys by day."""
    rows = []
    for name, share in (("build", 1.0), ("codex-anna", 0.4)):
        for at in range(25, -1, -1):
            count = round((900 - 31 * at) * share)
            tokens = {
                "input_tokens": count * 900,
                "cached_input_tokens": count * 310,
                "output_tokens": count * 240,
                "total_tokens": count * 1140,
            }
            of_key = {
                "api_key_id": f"key_{name}",
                "api_key_name": name,
                "api_key": "sk-antiphon-…Yx0w",
            }
            cost = {"value": f"{count * 0.00325:.6f}", "currency": "USD"}
            sums = {"object": "usage.day", "requests": count, "cost": cost}
            rows.append(day(now - at * DAY) | of_key | tokens | sums)
    return {"object": "list", "data": rows, "storage": {"bytes": 0}}


def day(seconds: float) -> dict[str, Any]:
    """Return the day of a time, in UTC, as a row of usage has it."""
    start = int(seconds) // DAY * DAY
    return {
        "date": datetime.fromtimestamp(start, UTC).date().isoformat(),
        "start_time": start,
        "end_time": start + DAY,
    }


def key(name: str, **changes: Any) -> dict[str, Any]:
    """Return a key; `changes` replace fields."""
    return {
        "object": "api_key",
        "id": f"key_{name}",
        "name": name,
        "tenant": "acme",
        "role": "use",
        "status": "active",
        "shown": "sk-antiphon-…Yx0w",
        "created_at": 1_790_000_000,
        "expires_at": None,
        "revoked_at": None,
        "old_key_until": None,
        "models": [],
        "requests_per_minute": 600,
        "tokens_per_minute": None,
        "tokens_per_day": 2_000_000,
        "concurrency": None,
        "budget_per_day": "20",
        "budget_per_month": None,
        "cache": False,
    } | changes


def keys() -> list[dict[str, Any]]:
    """Return keys of every role and status."""
    return [
        key(
            "admin",
            role="admin",
            requests_per_minute=None,
            tokens_per_day=None,
            budget_per_day=None,
        ),
        key("build"),
        key("help-desk", role="read", tenant="desk", models=["fast"], expires_at=1_900_000_000),
        key("old", status="revoked", revoked_at=1_791_000_000),
    ]


def endpoint(name: str = "billing") -> dict[str, Any]:
    """Return a webhook endpoint."""
    return {
        "id": f"whe_{name}",
        "object": "webhook_endpoint",
        "name": name,
        "url": f"https://{name}.example/hook",
        "event_types": ["response.completed", "response.failed"],
        "created_at": 1_790_000_000,
        "updated_at": 1_790_000_000,
        "signing_secret_hint": "whsec_...kP2x",
    }


def deliveries() -> dict[str, Any]:
    """Return a delivery that waits and one that failed."""
    common = {
        "tenant": "acme",
        "endpoint_id": "whe_billing",
        "endpoint_name": "billing",
        "url": "https://billing.example/hook",
    }
    waiting = {
        "id": "evt_1",
        "event_type": "response.completed",
        "status": "pending",
        "created_at": 1_790_000_000,
        "attempts": 2,
        "next_attempt_at": 1_790_000_300,
        "failed_at": None,
        "last_error": "The server answered 500.",
    }
    failed = {
        "id": "evt_2",
        "event_type": "response.failed",
        "status": "failed",
        "created_at": 1_789_000_000,
        "attempts": 12,
        "next_attempt_at": None,
        "failed_at": 1_789_900_000,
        "last_error": "Connection refused.",
    }
    return listed([waiting | common, failed | common])


def conversations() -> dict[str, Any]:
    """Return two conversations."""
    common = {"object": "conversation", "tenant": "acme"}
    return listed(
        [
            {
                "id": "conv_1",
                "created_at": 1_790_000_000,
                "metadata": {"topic": "release"},
                "items": 5,
                "input": "Which of the open issues block the 2.4 release?",
                "model": "qwen3-32b",
                "cost": 0.0123,
                "responses": 2,
                "is_partial": False,
            }
            | common,
            {
                "id": "conv_2",
                "created_at": 1_789_000_000,
                "metadata": {},
                "items": 541,
                "input": None,
                "model": "qwen3-coder",
                "cost": 1.23,
                "responses": 50,
                "is_partial": True,
            }
            | common,
        ]
    )
