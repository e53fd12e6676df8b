"""What makes responses: every caller's way into the core."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields

from antiphon.errors import AntiphonError
from antiphon.protocol.requests import CreateResponse
from antiphon.runs.persistence import RequestIdentity
from antiphon.runs.prepare import prepare
from antiphon.runs.run import Run
from antiphon.runs.services import Services
from antiphon.storage.contract import StoredItem


@dataclass(slots=True)
class Engine(Services):
    """Makes responses: prepares each, then runs it."""

    takes_work: bool = True
    """False once this process is about to end."""
    is_over: bool = False
    """No client is served any longer."""

    async def create(
        self,
        request: CreateResponse,
        ticket: RequestIdentity | None = None,
        *,
        recalled: Sequence[StoredItem] | None = None,
        generates: bool = True,
    ) -> Run:
        """Begin a response. Raises `ClientError` for what can be refused before the model is asked.

        `recalled` is what the previous response leaves to this one, where that is known without the store. What does
        not generate asks no model and ends well, with nothing in it (specification section 8, warm-up).
        """
        if ticket is None or not ticket.response_id:
            ticket = self.ticket(ticket)
        plan = await prepare(self, request, ticket, recalled, generates=generates)
        run = Run(plan, self)
        if not generates:
            run.warm_up()
        return run

    def drain(self) -> None:
        """Take no new work; what was begun goes on."""
        self.takes_work = False
        self.wakes.wake("")

    def abort(self) -> None:
        """End what is being made here: this process is about to end itself."""
        self.takes_work, self.is_over = False, True
        for run in list(self.runs):
            run.stop(going_away())
        self.wakes.wake("")

    def ticket(self, given: RequestIdentity | None) -> RequestIdentity:
        """Return a ticket that names the response to be made."""
        given = given or RequestIdentity()
        return given if given.response_id else replace_fields(given, response_id=self.new_id("resp"))


def going_away() -> AntiphonError:
    """Return the error for work that comes while this process is about to end."""
    text = "This server is shutting down. Please retry."
    return AntiphonError(text, status=503, code="server_error", headers={"retry-after": "1", "connection": "close"})
