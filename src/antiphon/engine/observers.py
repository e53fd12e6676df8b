"""Who is told what happens to responses, without taking part in it: measures, traces, the counting of tokens."""

from typing import TYPE_CHECKING

from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.engine.run import Run


class Observer:
    """Told of every response that this process makes. Each method returns at once and never raises.

    The order of one response: `began`; for each call of the model `asked`, `spoke` once its first byte is there, and
    `answered`; then `ended`, when `run.response` is final and durable, or was given up.
    """

    def began(self, run: "Run") -> None:
        """A response is being made."""

    def asked(self, run: "Run", backend: str) -> None:
        """The backend of this name is asked."""

    def spoke(self, run: "Run", backend: str) -> None:
        """It began to answer."""

    def answered(self, run: "Run", backend: str, error: AntiphonError | None) -> None:
        """Its answer is over, with an error where it failed or refused."""

    def ended(self, run: "Run") -> None:
        """The response has ended; one that came to nothing is still `in_progress`."""


class Observers(Observer):
    """Several, told one after the other."""

    def __init__(self) -> None:
        self._all: list[Observer] = []

    def add(self, observer: Observer) -> None:
        """Tell this one too, from now on."""
        self._all.append(observer)

    def began(self, run: "Run") -> None:
        """See `Observer.began`."""
        for each in self._all:
            each.began(run)

    def asked(self, run: "Run", backend: str) -> None:
        """See `Observer.asked`."""
        for each in self._all:
            each.asked(run, backend)

    def spoke(self, run: "Run", backend: str) -> None:
        """See `Observer.spoke`."""
        for each in self._all:
            each.spoke(run, backend)

    def answered(self, run: "Run", backend: str, error: AntiphonError | None) -> None:
        """See `Observer.answered`."""
        for each in self._all:
            each.answered(run, backend, error)

    def ended(self, run: "Run") -> None:
        """See `Observer.ended`."""
        for each in self._all:
            each.ended(run)
