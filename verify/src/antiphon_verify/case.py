"""Cases: scripts that send requests to a server to judge some requirements."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

from antiphon_verify.exchange import Exchange, Step
from antiphon_verify.reading import reads
from antiphon_verify.replies import Replies
from antiphon_verify.requirement import Doubt, Requirement, Stop, Verdict
from antiphon_verify.trial import ORDINARY, UNSHOWN, Steps, Traits, Trial

Script = Callable[[Trial], Steps]

Row = Requirement | str
"""A requirement, which the case declares, or the id of one that another case declares."""


@dataclass(frozen=True, slots=True)
class Case:
    """A script, and the requirements that it judges.

    `passing` are requirements that many cases judge in passing, such as the rules of the stream:
    they stay unjudged if the case ends before it reaches them, so that one fault is reported once.
    `good` are replies that meet all requirements that the case declares.
    """

    name: str
    rows: tuple[Row, ...]
    script: Script
    passing: tuple[Row, ...] = ()
    good: Replies = field(default=(), compare=False, repr=False)

    @property
    def own(self) -> tuple[str, ...]:
        """The ids of the requirements that it is about."""
        return tuple(map(_id, self.rows))

    @property
    def asides(self) -> tuple[str, ...]:
        """The ids of those that it judges in passing."""
        return tuple(map(_id, self.passing))

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids that it judges."""
        return (*self.own, *self.asides)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The requirements that it declares."""
        return tuple(row for row in (*self.rows, *self.passing) if isinstance(row, Requirement))

    @property
    def sentence(self) -> str:
        """What the case does, from its docstring."""
        return (self.script.__doc__ or "").strip()


def _id(row: Row) -> str:
    return row if isinstance(row, str) else row.id


def case(*rows: Row, asides: tuple[Row, ...] = (), good: Replies = ()) -> Callable[[Script], Case]:
    """Make a case of a generator function that judges these requirements."""
    return lambda script: Case(script.__name__, rows, script, asides, good)


def cases_of(*modules: ModuleType) -> tuple[Case, ...]:
    """Return the cases that modules define, as attributes or in tuples."""
    values = (value for module in modules for value in vars(module).values())
    found = (one for value in values for one in (value if isinstance(value, tuple) else (value,)))
    return tuple(dict.fromkeys(one for one in found if isinstance(one, Case)))


class CaseRun:
    """A running case: `step` is the next step that it wants done, None at its end; `answer` passes
    it the result.
    """

    def __init__(
        self, case: Case, model: str, traits: Traits = ORDINARY, tools_url: str = ""
    ) -> None:
        self.case = case
        self.trial = Trial(case.ids, model, traits, tools_url)
        self._steps = case.script(self.trial)
        self._doubt: Doubt | None = None
        self.step: Step | None = None

    def begin(self) -> None:
        """Run to the first step."""
        self.answer(None)

    def answer(self, came: Exchange | list[Exchange] | None) -> None:
        """Pass the result of its step to the case."""
        if self._doubt is not None and isinstance(came, Exchange):
            self.end(self._doubt.settle(came))
            return
        if came is not None:
            self.trial.exchanges += came if isinstance(came, list) else [came]
            self.trial.reads.clear()
        noting = reads.set(self.trial.reads)
        try:
            self.step = self._steps.send(came)
        except StopIteration:
            self.end(Verdict("skipped", UNSHOWN))
        except Stop as stop:
            self._stop(stop)
        finally:
            reads.reset(noting)

    def _stop(self, stop: Stop) -> None:
        """End the case, once it is decided what a rejection means."""
        if stop.doubt is None:
            self.end(stop.verdict)
        else:
            self._doubt = stop.doubt
            self.step = stop.doubt.request

    def end(self, rest: Verdict) -> None:
        """End the case here: the requirements that it has not judged receive this verdict."""
        self.step = None
        self._steps.close()
        self.trial.conclude(rest, self.case.asides)
