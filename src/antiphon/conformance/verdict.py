"""What became of a requirement in one case, and of one in several."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "skipped", "not offered"]

OUTCOMES: tuple[Outcome, ...] = ("failed", "passed", "skipped", "not offered")
"""Those that weigh more come first: a requirement that one case finds broken is broken."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome, and what came in words: what was wrong, why it was skipped, how the server says that it lacks it."""

    outcome: Outcome
    came: str = ""
    seen: int = 0
    """How many exchanges the case had had: the last of them showed it."""


class Stop(Exception):  # noqa: N818 - nothing is wrong with the suite
    """A case ends here; `verdict` is that of all it has not judged yet."""

    def __init__(self, outcome: Outcome, came: str) -> None:
        super().__init__(came)
        self.verdict = Verdict(outcome, came)


def weightiest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that stands, of one requirement's in all cases: the first of those that weigh most."""
    return min(verdicts, key=lambda verdict: OUTCOMES.index(verdict.outcome))
