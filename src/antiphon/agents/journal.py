"""The journal of one response, as its handler uses it: what it finds, and what it adds.

No I/O: `execution.py` reads the journal once, and the recorder writes what is added here: always
the newest state of a step, so that an older one that waited cannot replace it.

    state in the journal       a handler that asks for the step again
    done, failed               gets the recorded result, and nothing is written
    begun                      runs it again; a step with `once=True` raises `StepInterrupted`
    item                       gets the item that the response has, and nothing is sent
    waits                      waits for the client, unless its answer is in the request

A response that continues another one finds the steps of that one too, and adds its own.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from antiphon.agents.errors import (
    AgentError,
    agent_changed,
    journal_too_large,
    over,
    too_many_steps,
)
from antiphon.agents.results import difference, digest_of
from antiphon.jobs.parts import AgentLimits
from antiphon.storage.records.steps import REQUEST, STATE, Step, StepState, StepWrite, size_of

BEGIN = "begin"
SAVED = "state"
REQUESTED = "request"
"""Keys of the server. Those of a handler's steps have a slash."""

PLACES = {SAVED: STATE, REQUESTED: REQUEST}
"""The places of what is found without reading the journal."""

NO_INPUT = digest_of({})


class InheritedStep(NamedTuple):
    """A step of an earlier response of the run, and the ID of that response."""

    step: Step
    response_id: str


class Journal:
    """The steps of a response, by their keys, and those that it inherits from earlier ones."""

    def __init__(
        self,
        steps: Iterable[Step],
        attempt: int,
        version: str,
        inherited: Mapping[str, InheritedStep] | None = None,
        limits: AgentLimits = AgentLimits(),  # noqa: B008 - it is immutable
    ) -> None:
        self.limits = limits
        self._steps = {step.key: step for step in steps}
        self._inherited = {**(inherited or {})}
        self._stored = {key: size_of(step) for key, step in self._steps.items()}
        """The sizes of the steps, as the store has them."""
        self._places = max((step.place for step in self._steps.values()), default=-1) + 1
        self._size = sum(map(size_of, self._steps.values()))
        self._size += sum(size_of(step) for step, _ in self._inherited.values())
        self._requested: set[str] = set()
        self._attempt = attempt
        self._version = version
        self.full: AgentError | None = None
        """Why nothing more is taken: a handler that catches it cannot continue."""
        self.has_records = False
        """Whether a framework continues from its records, without the steps before them."""
        self.is_closed = False
        """Whether the attempt has ended: what it left running adds nothing."""

    @property
    def is_continued(self) -> bool:
        """Whether the response continues an earlier one."""
        return bool(self._inherited)

    @property
    def started_version(self) -> str:
        """The version of the code that began the run."""
        if BEGIN in self._inherited:
            return self._inherited[BEGIN].step.version
        first = self._steps.get(BEGIN)
        return self._version if first is None else first.version

    @property
    def began(self) -> int | None:
        """When the first attempt began, in milliseconds; None in the first attempt."""
        found = self._steps.get(BEGIN)
        return None if found is None else found.began

    def begin(self, now: int) -> Step | None:
        """Note when the response began, with the version of the code; None if that is noted."""
        if BEGIN in self._steps:
            return None
        return self.put(BEGIN, NO_INPUT, StepState.DONE, b"", now, now)

    def owner_of(self, step: Step) -> str:
        """Return the ID of the earlier response that has a step; empty for the response's own."""
        if step.key in self._steps:
            return ""
        return self._inherited[step.key].response_id

    def restore(self, step: Step) -> None:
        """Take a step with its whole body in place of a partial one."""
        if owner := self.owner_of(step):
            self._size += size_of(step) - size_of(self._inherited[step.key].step)
            self._inherited[step.key] = InheritedStep(step, owner)
            return
        self._size += size_of(step) - size_of(self._steps[step.key])
        self._stored[step.key] = size_of(step)
        self._steps[step.key] = step

    def find(self, key: str, digest: bytes) -> Step | None:
        """Return the step of a key, or None if it was never begun.

        Raises `AgentError` (`agent_changed`) if it had another input, or if the journal is full,
        and `RuntimeError` after the end of the attempt.
        """
        if self.is_closed:
            raise over()
        if self.full is not None:
            raise self.full
        self._requested.add(key)
        found = self._steps.get(key)
        if found is None and key in self._inherited:
            found = self._inherited[key].step
        if found is not None and found.digest != digest:
            raise agent_changed(key, difference(found.digest, digest))
        return found

    def put(
        self, key: str, digest: bytes, state: StepState, body: bytes, began: int, now: int
    ) -> Step:
        """Add a step, or its new state; return it.

        Raises `AgentError` if the journal has too many steps, or becomes too large, and
        `RuntimeError` after the end of the attempt.
        """
        if self.is_closed:
            raise over()
        before = self._steps.get(key)
        ended = None if state is StepState.BEGUN else now
        if before is None:
            step = Step(
                self._next_place(key), key, state, digest, body, began, ended, self._attempt,
                self._version,
            )  # fmt: skip
        else:
            step = replace(
                before, state=state, digest=digest, body=body, ended=ended, attempt=self._attempt,
                is_partial=False,
            )  # fmt: skip
            self._size -= size_of(before)
        self._size += size_of(step)
        if self._size > self.limits.journal_bytes:
            raise self._filled(journal_too_large(self.limits.journal_bytes))
        self._steps[key] = step
        self._requested.add(key)
        return step

    def writes(self, keys: Iterable[str]) -> list[StepWrite]:
        """Return the newest states of steps, for one write to the store."""
        written = [
            StepWrite(step := self._steps[key], self._stored.get(step.key, 0))
            for key in dict.fromkeys(keys)
        ]
        self._stored |= {one.step.key: size_of(one.step) for one in written}
        return written

    def _next_place(self, key: str) -> int:
        if key in PLACES:
            return PLACES[key]
        place = self._places
        if place + len(self._inherited) >= self.limits.steps:
            raise self._filled(too_many_steps(self.limits.steps))
        self._places = place + 1
        return place

    def _filled(self, error: AgentError) -> AgentError:
        self.full = error
        return error

    def unused(self) -> list[str]:
        """Return the keys that the handler did not ask for, in the order of their beginning."""
        if self.has_records:
            return []
        inherited = [one.step for one in self._inherited.values()]
        steps = [*inherited, *sorted(self._steps.values(), key=lambda step: step.place)]
        return [one.key for one in steps if "/" in one.key and one.key not in self._requested]
