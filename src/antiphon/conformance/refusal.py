"""Bad requests as data: how each is refused, as requirements."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from antiphon.conformance.requirement import Level, Requirement, Table


@dataclass(frozen=True, slots=True)
class Refusal:
    """How one bad request is refused. `what` begins a sentence: `A request without a model`."""

    what: str
    code: str | None = None
    param: str | None = None
    level: Level = "must"
    source: str = "spec 13"
    statuses: tuple[int, ...] = (400,)
    others: tuple[tuple[str | None, str | None], ...] = field(default=())
    """Further pairs of code and param that are as good: sources differ."""

    @property
    def is_named(self) -> bool:
        """Whether OpenAI's error names it by a code or a param."""
        return bool(self.code or self.param)


def refusal_table(area: str, refusals: Mapping[str, Refusal]) -> Table:
    """Return two requirements for each: that it is refused, and that the error names it."""
    return tuple(
        requirement
        for name, refusal in refusals.items()
        for requirement in (_refused(area, name, refusal), *_named(area, name, refusal))
    )


def _refused(area: str, name: str, refusal: Refusal) -> Requirement:
    statuses = " or ".join(map(str, refusal.statuses))
    sentence = f"{refusal.what} is refused with {statuses} and an error that SDKs can read."
    return Requirement(f"{area}:{name}", refusal.level, refusal.source, sentence)


def _named(area: str, name: str, refusal: Refusal) -> Table:
    if not refusal.is_named:
        return ()
    words = [f"the {key} `{value}`" for key, value in (("code", refusal.code), ("param", refusal.param)) if value]
    sentence = f"{refusal.what} is told by {' and '.join(words)}."
    level: Level = "may" if refusal.level == "may" else "should"
    return (Requirement(f"{area}:{name}-named", level, refusal.source, sentence),)
