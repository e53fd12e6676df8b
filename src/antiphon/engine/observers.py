"""Who is told what happens to responses, without taking part in it: measures, traces, the log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from antiphon.errors import AntiphonError
from antiphon.protocol.tool_bindings import Kind
from antiphon.translation.from_chat.reader import Ending

if TYPE_CHECKING:
    from antiphon.engine.routing.backend_state import Target
    from antiphon.engine.run import Run


Operation = Literal["chat", "embeddings"]


@dataclass(slots=True, eq=False)
class Call:
    """One call of a model. What came of it is filled in once that is known."""

    run: "Run | None"
    """The response that it is made for; None where a client's own request is passed on."""
    target: "Target"
    body: Mapping[str, Any]
    """What the backend is asked."""
    operation: Operation = "chat"
    ending: Ending | None = None
    """How the answer ended, where it was read to its end."""
    error: AntiphonError | None = None
    """Why there is no answer, or no whole one."""
    has_calls: bool = False
    """Whether the model calls tools."""

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self.target.backend.name


@dataclass(slots=True, eq=False)
class ToolUse:
    """One use of a tool that this server runs itself."""

    run: "Run"
    name: str
    kind: str
    """`function`, `extension` or `datastore`, in the words of the conventions for traces."""
    call_id: str | None = None
    hosted: Kind | None = None
    """Which hosted tool of the API it is, if any."""
    is_over: bool = False
    """Whether it came to its end, well or not; what is broken off does not."""
    error: AntiphonError | None = None
    """Why it came to nothing."""


class Observer:
    """Told of every response that this process makes. Each method returns at once and never raises.

    The order of one response: `queued` where it is made in the background; `began`; for each call of the model `asked`,
    `spoke` once its first byte is there, and `answered`; for each use of a tool of this server `used` and `returned`;
    then `ended`, when `run.response` is final and durable, or was given up; `run.outcome` tells.
    """

    def queued(self, response_id: str) -> None:
        """A response was put into the queue, by the request that is being served."""

    def began(self, run: "Run") -> None:
        """A response is being made."""

    def asked(self, call: Call) -> None:
        """A backend is about to be asked, by this task."""

    def spoke(self, call: Call) -> None:
        """It began to answer."""

    def answered(self, call: Call) -> None:
        """Its answer is over."""

    def used(self, use: ToolUse) -> None:
        """A tool begins to run."""

    def returned(self, use: ToolUse) -> None:
        """It has ended."""

    def ended(self, run: "Run") -> None:
        """The response has ended; one that came to nothing is still `in_progress`."""


class Observers(Observer):
    """Several, told one after the other."""

    def __init__(self) -> None:
        self._all: list[Observer] = []

    def add(self, observer: Observer) -> None:
        """Tell this one too, from now on."""
        self._all.append(observer)

    def queued(self, response_id: str) -> None:
        """See `Observer.queued`."""
        for each in self._all:
            each.queued(response_id)

    def began(self, run: "Run") -> None:
        """See `Observer.began`."""
        for each in self._all:
            each.began(run)

    def asked(self, call: Call) -> None:
        """See `Observer.asked`."""
        for each in self._all:
            each.asked(call)

    def spoke(self, call: Call) -> None:
        """See `Observer.spoke`."""
        for each in self._all:
            each.spoke(call)

    def answered(self, call: Call) -> None:
        """See `Observer.answered`."""
        for each in self._all:
            each.answered(call)

    def used(self, use: ToolUse) -> None:
        """See `Observer.used`."""
        for each in self._all:
            each.used(use)

    def returned(self, use: ToolUse) -> None:
        """See `Observer.returned`."""
        for each in self._all:
            each.returned(use)

    def ended(self, run: "Run") -> None:
        """See `Observer.ended`."""
        for each in self._all:
            each.ended(run)
