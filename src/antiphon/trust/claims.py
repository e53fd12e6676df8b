"""What the checks found."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

Outcome = Literal["holds", "broken", "not checked"]

FORMAT = 1
"""The version of the JSON of a report."""


class CheckedClaim(Struct, kw_only=True):
    """One claim, and what was seen of it."""

    check: str
    """The name of its check, as `--only` accepts it."""
    claim: str
    outcome: Outcome
    figures: Mapping[str, float | int | str] = {}
    """What was counted and measured, by names with units."""
    detail: str = ""
    """What is broken, or why it was not checked."""


def milliseconds(latencies: Sequence[float], part: float) -> float:
    """Return the percentile of sorted latencies in seconds below which `part` of them are, in
    milliseconds.
    """
    return round(latencies[int(len(latencies) * part)] * 1000, 1)


class TrustReport(Struct, kw_only=True):
    """All findings of one run."""

    format: int = FORMAT
    version: str
    """Of Antiphon."""
    python: str
    system: str
    cores: int
    store: str
    """`SQLite` or `PostgreSQL`."""
    began: int
    """Seconds since the epoch."""
    seconds: float
    """How long all checks took."""
    seed: int
    command: str
    """What repeats the run."""
    findings: Sequence[CheckedClaim]

    @property
    def is_broken(self) -> bool:
        """Whether a claim does not hold."""
        return any(one.outcome == "broken" for one in self.findings)
