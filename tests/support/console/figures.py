"""Figures as `/admin/v1/figures` returns them."""

from collections.abc import Sequence
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
        "streamed_tokens": total * 240,
        "streamed_ms": total * 4_000,
        "first_token_ms": {"p50": 412, "p95": 2900} if total else None,
        "duration_ms": {"p50": 3400, "p95": 24100} if total else None,
    }


def figures(since: int, until: int, step: int, by: str = "", series: int = 0) -> dict[str, Any]:
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
            label(by, value) | sums(count)
            for value, count in shared_out(totals["responses"], GROUPS[by])
        ]
    if by and series:
        found["series"] = series_of(by, buckets)
    return found | {"in_flight": 6, "queued": 2}


def label(by: str, value: str | None) -> dict[str, Any]:
    """Return what names a group; the value of a key's group is its ID."""
    if by != "key":
        return {"by": by, "value": value}
    return {"by": by, "value": value and f"key_{value}", "name": value}


def shared_out(total: int, groups: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return groups with their share of so many responses; the first one has what remains."""
    weight = sum(count for _, count in groups)
    (first, _), *others = [(value, total * count // weight) for value, count in groups]
    return [(first, total - sum(count for _, count in others)), *others]


COUNTED = (
    *("time", "responses", "input_tokens", "cached_tokens", "output_tokens"),
    *("reasoning_tokens", "cost"),
)


def series_of(by: str, buckets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return two groups over time, of which the first one has most, and all others."""
    (first, _), *others = GROUPS[by]
    names = [first, *[name for name, _ in others[:1]], None]
    shares = (0.6, 0.3, 0.1)
    return [
        label(by, name)
        | {
            "buckets": [
                {
                    field: value if field == "time" else round(value * share, 6 * (field == "cost"))
                    for field, value in bucket.items()
                    if field in COUNTED
                }
                for bucket in buckets
            ]
        }
        for name, share in zip(names, shares, strict=False)
    ]


GROUPS = {
    "model": (("fast", 640), ("qwen3-coder", 402), ("qwen3-32b", 180), ("deepseek-r1", 62)),
    "backend": (("gpu-b", 720), ("gpu-a", 500), ("groq", 64)),
    "key": (("build", 610), ("codex-anna", 402), ("nightly", 272)),
    "tenant": (("acme", 1284),),
}
