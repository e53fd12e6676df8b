"""Reports an attempt of an agent, and its steps, to metrics and traces."""

from collections.abc import Iterator
from contextlib import contextmanager

from antiphon.telemetry.observers import AgentAttempt, Observers, StepUse


class ObservedAttempt:
    """An attempt, as its observers see it."""

    def __init__(self, observers: Observers, attempt: AgentAttempt) -> None:
        self._observers = observers
        self._attempt = attempt
        self._has_begun = False
        self._is_followed = bool(observers.step_began or observers.step_ended)

    def begin(self) -> None:
        """Report that the handler begins, in its task."""
        self._has_begun = True
        for report in self._observers.agent_began:
            report(self._attempt)

    def end(self, status: str) -> None:
        """Report that the attempt has ended, if it began."""
        if self._has_begun:
            self._attempt.end = status
            for report in self._observers.agent_ended:
                report(self._attempt)

    @contextmanager
    def step(self, key: str, *, is_once: bool = False, is_recorded: bool = False) -> Iterator[None]:
        """Report the step of a key, while a block executes it or reads its result."""
        if not self._is_followed:
            yield
            return
        name = key.rsplit("/", 2)[-2]
        use = StepUse(self._attempt, name, key, is_once, is_recorded)
        for report in self._observers.step_began:
            report(use)
        try:
            yield
        except BaseException as error:
            use.error = getattr(error, "type", "") or type(error).__name__
            raise
        finally:
            for report in self._observers.step_ended:
                report(use)
