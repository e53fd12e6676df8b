"""What a handler asks its client: to approve calls, and to call functions of its own.

A question is an output item, and a step in state `WAITS`. The response with the answer continues
the journal of the one with the question, finds this step there, and records the answer as its
result.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.agents.errors import needs_store
from antiphon.agents.journal import Journal
from antiphon.agents.keys import here
from antiphon.agents.pause import ClientQuestion, RunPause
from antiphon.agents.results import digest_of, encoded
from antiphon.agents.steps import StepStore
from antiphon.ids import NewId
from antiphon.jobs.agent_answers import (
    ClientAnswer,
    QuestionRecord,
    call_id_of,
    question_of,
)
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.hosted import McpApprovalRequest
from antiphon.protocol.items.messages import FunctionCall
from antiphon.storage.records.steps import Step, StepState

MakeItem = Callable[[str, str], Item]
"""Makes the item of a question from its name and its arguments, as JSON."""

LONGEST_NAME = 128
"""Characters of the name of a call."""


class Approval(Struct, frozen=True):
    """The client's answer to a request for approval."""

    approved: bool
    reason: str = ""
    """Why the client rejected it, or empty."""
    request_id: str = ""
    """The ID of the request for approval, an output item: `approval_request_id` of the call."""


def request_id_of(show: bool | Approval) -> str | None:
    """Return the request for approval that a displayed call names. Raises `ValueError` for one that
    the client rejected.
    """
    if isinstance(show, bool):
        return None
    if not show.approved:
        raise ValueError("The client rejected this call, so it cannot be shown as approved.")
    return show.request_id or None


class RecordedAnswer(ClientAnswer, frozen=True):
    """What the journal has of an answer."""

    item: str = ""
    """The ID of the output item that it answers."""


class ClientQuestions:
    """The questions of one attempt. `answers` are those of its request, by the IDs of the items;
    `is_stored` is whether a later response can continue this one.
    """

    def __init__(
        self,
        agent: str,
        journal: Journal,
        pause: RunPause,
        store: StepStore,
        answers: Mapping[str, ClientAnswer],
        new_id: NewId,
        now: Callable[[], int],
        *,
        is_stored: bool,
    ) -> None:
        self._agent = agent
        self._journal = journal
        self._pause = pause
        self._store = store
        self._answers = answers
        self._new_id = new_id
        self._now = now
        self._is_stored = is_stored

    async def approvals(self, calls: Sequence[tuple[str, Any]]) -> list[Approval]:
        """Return the client's answers. See `AgentContext.approvals`."""
        answers = await self._answered("approval", calls, self._approval_request)
        return [Approval(one.approved, one.reason, one.item) for one in answers]

    async def client_call(self, name: str, arguments: Any) -> str:
        """Return what the client's function returned. See `AgentContext.client_call`."""
        (answer,) = await self._answered("client_call", [(name, arguments)], self._function_call)
        return answer.output or ""

    async def _answered(
        self, kind: str, calls: Sequence[tuple[str, Any]], make_item: MakeItem
    ) -> list[RecordedAnswer]:
        answers: list[RecordedAnswer] = []
        questions: list[ClientQuestion] = []
        for name, arguments in calls:
            if not 0 < len(name) <= LONGEST_NAME:
                raise ValueError(f"The name of a call has 1 to {LONGEST_NAME} characters: {name!r}")
            key = here().key(f"{kind}:{name}")
            digest = digest_of({"arguments": arguments})
            answer = self._find(key, digest)
            if answer is None:
                text = encoded(arguments, f"the arguments of {name!r}").decode()
                questions.append(ClientQuestion(key, digest, make_item(name, text)))
            else:
                answers.append(answer)
        if questions:
            if not self._is_stored:
                self._pause.fail(needs_store())
            await self._pause.wait_for_client(questions)
        return answers

    def _find(self, key: str, digest: bytes) -> RecordedAnswer | None:
        """Return the answer to a question, from this request or an earlier one; None without any.

        Raises `AgentError` (`agent_changed`) if the question had other arguments.
        """
        found = self._journal.find(key, digest)
        if found is None:
            return None
        if found.state is not StepState.WAITS:
            return msgspec.json.decode(found.body, type=RecordedAnswer)
        item_id = question_of(found.body).item
        sent = self._answers.get(item_id)
        if sent is None:
            return None
        answer = RecordedAnswer(sent.approved, sent.reason, sent.output, item_id)
        body = msgspec.json.encode(answer)
        self._journal.put(key, digest, StepState.DONE, body, found.began, self._now())
        self._store.ride(key)
        return answer

    def note(self, question: ClientQuestion) -> Step:
        """Note in the journal that the response ends with a question."""
        now = self._now()
        body = msgspec.json.encode(
            QuestionRecord(str(getattr(question.item, "id", "")), self._agent)
        )
        return self._journal.put(question.key, question.digest, StepState.WAITS, body, now, now)

    def _approval_request(self, name: str, arguments: str) -> Item:
        return McpApprovalRequest(
            id=self._new_id("mcpr"), name=name, arguments=arguments, server_label=self._agent
        )

    def _function_call(self, name: str, arguments: str) -> Item:
        item_id = self._new_id("fc")
        return FunctionCall(
            id=item_id,
            call_id=call_id_of(item_id),
            name=name,
            arguments=arguments,
            status="completed",
        )
