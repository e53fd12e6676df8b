"""The words of a report, the same for every renderer: outcomes and levels, the headline, counts,
times.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from antiphon_verify.report import Cause, Report, Result

APIS = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "messages": "Messages",
    "transport": "Transport",
}

MEANINGS = {
    "passed": "The server meets the requirement.",
    "failed": "The server violates the requirement.",
    "known": "The server violates the requirement, and the profile says why.",
    "blocked": "The requirement cannot be judged while another one fails.",
    "not offered": "The server reports that it lacks the feature.",
    "skipped": "Not exercised, or skipped on request.",
    "not in report": "The report does not contain the requirement.",
}

LEVELS = {
    "must": "Clients break without it.",
    "should": "OpenAI does so, and some clients rely on it.",
    "may": "Optional.",
}


def state(result: Result | None) -> str:
    """Return an outcome, or `known` for a failure that the profile lists, or `not in report`."""
    if result is None:
        return "not in report"
    return (
        "known"
        if result.known and result.outcome == "skipped" and result.exchanges
        else result.outcome
    )


def tally(results: Iterable[Result | None]) -> tuple[int, int]:
    """Return how many passed, and how many were judged, including known deviations."""
    states = [state(result) for result in results]
    passed = states.count("passed")
    return passed, passed + states.count("failed") + states.count("known")


def headline(report: Report) -> tuple[str, str]:
    """Return the state of the whole report, and in words whether the server conforms."""
    passed, broken = musts(report)
    if report.conforms:
        return "passed", f"Conforms: all judged musts pass, {passed} of {passed}"
    if broken:
        return (
            "failed",
            f"Does not conform: {broken} of {counted(passed + broken, 'must')} "
            f"{'fails' if broken == 1 else 'fail'}",
        )
    return "skipped", "Not judged: no must was exercised"


def musts(report: Report) -> tuple[int, int]:
    """Return how many `must` requirements of the protocol pass, and how many make the server
    non-conformant.
    """
    judged = [one for one in report.results if one.level == "must" and one.kind == "protocol"]
    return sum(one.outcome == "passed" for one in judged), sum(one.is_breach for one in judged)


def counted(number: int, noun: str) -> str:
    """Return `1 must`, `2 musts`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def consequences(cause: Cause) -> list[str]:
    """Return what a failure stands for: how many requirements it blocks, and how many had the same
    response.
    """
    parts = [f"blocks {counted(len(cause.blocked), 'requirement')}"] if cause.blocked else []
    return [*parts, f"{len(cause.same)} more with the same response"] if cause.same else parts


def server(report: Report) -> str:
    """Return the name of the server, or its host and port."""
    return report.name or report.base_url.partition("://")[2].removesuffix("/v1") or report.base_url


def day(seconds: int) -> str:
    """Return a time for a reader."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s"


def took(report: Report) -> str:
    """Return how long a run took, and for how many requests."""
    seconds = f"{report.seconds:.0f}" if report.seconds >= 10 else f"{report.seconds:.1f}"
    return f"{seconds} s, {counted(report.requests, 'request')}"


def cut(text: str, longest: int) -> str:
    """Return a text on one line, truncated if it is long."""
    words = " ".join(text.split())
    return (
        words
        if len(words) <= longest
        else f"{words[:longest]}… ({len(words) - longest} more characters)"
    )
