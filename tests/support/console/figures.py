"""Figures as `/admin/v1/figures` returns them."""

from math import sin
from typing import Any


def sums(completed: int, failed: int = 0, incomplete: int = 0, running: int = 0) -> dict[str, Any]:
    """Return sums over so many responses."""
    total = completed + failed + incomplete + running
    return {
        "responses": total,
        "by_status": {
            "completed": completed,
            "failed": failed,
            "incomplete": incomplete,
            "in_progress": running,
        },
        "input_tokens": total * 1200,
        "cached_tokens": total * 372,
        "output_tokens": total * 295,
        "reasoning_tokens": total * 60,
        "cost": round(total * 0.003256, 6),
        "first_token_ms": {"p50": 412, "p95": 2900} if total else None,
        "duration_ms": {"p50": 3400, "p95": 24100} if total else None,
    }


def figures(since: int, until: int, step: int, by: str = "") -> dict[str, Any]:
    """Return figures with a wave of responses and an outage at three quarters of the time."""
    times = range(since, until, step)
    buckets = []
    for at, time in enumerate(times):
        share = at / max(1, len(times))
        failed = 6 if 0.68 < share < 0.73 else at % 11 == 0
        buckets.append(
            {"time": time}
            | sums(
                round(12 + 4 * sin(share * 9) + 3 * sin(at * 1.7)), int(failed), int(at % 7 == 3), 0
            )
        )
    totals = sums(
        *(
            sum(each["by_status"][name] for each in buckets)
            for name in ("completed", "failed", "incomplete")
        )
    )
    found = {
        "object": "figures",
        "since": since,
        "until": until,
        "step": step,
        "totals": totals,
        "buckets": buckets,
    }
    if by:
        found["groups"] = [
            {"by": by, "value": value} | NAMED.get(by, {}) | sums(count)
            for value, count in GROUPS[by]
        ]
    return found | {"in_flight": 6, "queued": 2}


NAMED = {"key": {"name": "build"}}
"""What groups have besides; the value of a key's group is its ID."""

GROUPS = {
    "model": (("fast", 640), ("qwen3-coder", 402), ("qwen3-32b", 180), ("deepseek-r1", 62)),
    "backend": (("gpu-b", 720), ("gpu-a", 500), ("groq", 64)),
    "key": (("build", 610), ("codex-anna", 402), ("nightly", 272)),
    "tenant": (("acme", 1284),),
}
