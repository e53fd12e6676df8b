"""Two reports compared: the outcome of each requirement before and now."""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon_verify.page import state
from antiphon_verify.report import Report, Result


@dataclass(frozen=True, slots=True)
class Change:
    """A requirement with a different outcome than before; None if a report does not have it."""

    old: Result | None
    new: Result | None

    @property
    def id(self) -> str:
        """The requirement's id."""
        known = self.new or self.old
        return known.id if known else ""

    @property
    def states(self) -> tuple[str, str]:
        """The outcomes before and now, in words."""
        return state(self.old), state(self.new)

    @property
    def is_worse(self) -> bool:
        """Whether it passed before and no longer does, or fails now and did not before."""
        before, now = self.states
        return now == "failed" or (before == "passed" and now in ("blocked", "not offered", "known"))


def changes(old: Report, new: Report) -> list[Change]:
    """Return the differences between two reports, those that got worse first."""
    before, now = ({one.id: one for one in report.results} for report in (old, new))
    pairs = [Change(before.get(each), now.get(each)) for each in dict.fromkeys([*now, *before])]
    differing = [pair for pair in pairs if pair.states[0] != pair.states[1]]
    return sorted(differing, key=lambda pair: not pair.is_worse)


def told(found: Sequence[Change]) -> list[str]:
    """Return a line for each change, with the server's response if it got worse."""
    lines = []
    for one in found:
        before, now = one.states
        came = f": {one.new.came}" if one.is_worse and one.new else ""
        lines.append(f"{'worse' if one.is_worse else '     '}  {one.id}  {before} -> {now}{came}")
    return lines
