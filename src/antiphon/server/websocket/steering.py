"""Handles input that a client sends to a running response (specification section 8). No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from antiphon.errors import AntiphonError
from antiphon.protocol.events import (
    ResponseSteerAcceptedEvent,
    ResponseSteerFailedEvent,
    ResponseSteerPendingEvent,
)
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.protocol.websocket import Steer
from antiphon.sharing.memory import Account

MAX_STEERS = 16
"""Submissions that wait for one response."""

MAX_ENDED = 256
"""Ended responses of a connection that are remembered."""

REQUIRED: dict[str, tuple[str, tuple[str, ...]]] = {
    "function_call": ("function_call_output", ("call_id", "name")),
    "custom_tool_call": ("custom_tool_call_output", ("call_id",)),
    "computer_call": ("computer_call_output", ("call_id",)),
    "shell_call": ("shell_call_output", ("call_id",)),
    "local_shell_call": ("local_shell_call_output", ("call_id",)),
    "apply_patch_call": ("apply_patch_call_output", ("call_id",)),
    "tool_search_call": ("tool_search_output", ("call_id", "execution")),
    "mcp_approval_request": ("mcp_approval_response", ("approval_request_id",)),
}
"""The output that a client owes for each final item of a response: its type, and its identifying
fields.
"""

MESSAGES = {
    "response_not_found": "The response does not belong to this WebSocket connection.",
    "response_already_completed": "The response has completed.",
    "response_not_active": "The response has ended.",
    "steering_not_supported": "A response in a conversation, or with automatic compaction, cannot "
    "be steered.",
    "too_many_pending_steers": "Too many inputs wait for this response. "
    "Send more after it has ended.",
}


class SteeringRefused(Exception):  # noqa: N818 - an answer, sent as an event
    """This response cannot be steered now; `code` says why."""

    def __init__(self, code: str) -> None:
        super().__init__(MESSAGES[code])
        self.code = code


@dataclass(frozen=True, slots=True)
class Submission:
    """A steer that was accepted."""

    id: str
    steer: Steer
    size: int

    @property
    def name(self) -> dict[str, Any]:
        """Its name in events."""
        return {"id": self.id, "previous_response_id": self.steer.previous_response_id}

    def accepted(self) -> ResponseSteerAcceptedEvent:
        """Return the event that the server has accepted it."""
        return ResponseSteerAcceptedEvent(steer=self.name)

    def pending(self, required: Sequence[dict[str, Any]]) -> ResponseSteerPendingEvent:
        """Return the event that it waits for the client's outputs."""
        return ResponseSteerPendingEvent(
            reason="waiting_for_required_input", required_input=list(required), steer=self.name
        )

    def failed(self, message: str) -> ResponseSteerFailedEvent:
        """Return the event that no response could be generated from it."""
        return failed(
            "successor_creation_failed", message, {**self.name, "input": self.steer.input}
        )


def failed(code: str, message: str, steer: dict[str, Any]) -> ResponseSteerFailedEvent:
    """Return the event that returns a steer to its client."""
    return ResponseSteerFailedEvent(
        error={"code": code, "message": message, "type": "invalid_request_error"}, steer=steer
    )


def messages(submissions: Sequence[Submission]) -> list[InputItem]:
    """Return the inputs in order of arrival."""
    return [message for one in submissions for message in one.steer.messages]


def required_input(response: Response) -> list[dict[str, Any]]:
    """Return stubs of the outputs that the client owes before this response can be continued."""
    stubs = []
    for item in map(msgspec.to_builtins, response.output if response.status == "completed" else ()):
        kind, names = REQUIRED.get(item["type"], ("", ()))
        if kind and item.get("execution", "client") == "client":
            stubs.append({"type": kind} | {name: _field(item, name) for name in names})
    return stubs


def _field(item: dict[str, Any], name: str) -> Any:
    return item["id"] if name == "approval_request_id" else item.get(name)


@dataclass(slots=True)
class _Active:
    is_steerable: bool
    submissions: list[Submission] = field(default_factory=list)


class Steering:
    """The submissions of one connection: they wait for their response to end, or for the client to
    continue it.

    Their bytes are reserved in the account until `release`.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._active: dict[str, _Active] = {}
        self._ended: dict[str, str] = {}
        self._pending: dict[str, list[Submission]] = {}

    def begin(self, response_id: str, request: CreateResponse) -> None:
        """A response is running."""
        is_steerable = request.conversation_id is None and not request.context_management
        self._active[response_id] = _Active(is_steerable)

    def submit(self, submission: Submission, *, is_over: bool = False) -> None:
        """Accept a submission; `is_over` says that its response is about to end.

        Raises `SteeringRefused`.
        """
        response_id = submission.steer.previous_response_id
        active = self._active.get(response_id)
        if active is None:
            raise SteeringRefused(self._why_not(response_id))
        if is_over:
            raise SteeringRefused("response_already_completed")
        if not active.is_steerable:
            raise SteeringRefused("steering_not_supported")
        if len(active.submissions) >= MAX_STEERS:
            raise SteeringRefused("too_many_pending_steers")
        try:
            self._account.take(submission.size)
        except AntiphonError as error:
            raise SteeringRefused("too_many_pending_steers") from error
        active.submissions.append(submission)

    def end(self, response: Response) -> list[Submission]:
        """A response has ended; return its inputs."""
        active = self._active.pop(response.id, None)
        self._ended[response.id] = response.status
        if len(self._ended) > MAX_ENDED:
            del self._ended[next(iter(self._ended))]
        return active.submissions if active else []

    def save(self, response_id: str, submissions: list[Submission]) -> None:
        """Keep the inputs until the client continues that response."""
        self._pending[response_id] = submissions

    def pending(self, response_id: str | None) -> list[Submission]:
        """Return the inputs that wait for the client to continue that response."""
        return self._pending.get(response_id or "", [])

    def commit(self, response_id: str | None) -> None:
        """The inputs that waited for that response are in the next one."""
        self.release(self._pending.pop(response_id or "", []))

    def release(self, submissions: Sequence[Submission]) -> None:
        """These submissions are in a finished response, or were returned to their client."""
        self._account.release(sum(one.size for one in submissions))

    def _why_not(self, response_id: str) -> str:
        status = self._ended.get(response_id)
        if status is None:
            return "response_not_found"
        return "response_already_completed" if status == "completed" else "response_not_active"
