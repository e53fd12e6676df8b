"""Answers of clients to agents: to requests for approval, and to calls of functions.

What an agent asks is an output item, and the ID of this item is in its journal. An answer names it:
that of an approval by the ID, and that of a function by the `call_id`, which has the same digits.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputText
from antiphon.protocol.items.hosted import McpApprovalResponse
from antiphon.protocol.items.messages import FunctionCallOutput
from antiphon.protocol.requests import CreateResponse

FUNCTION, CALL = "fc_", "call_"
"""The beginnings of the IDs of a function call: of its item, and its `call_id`."""


class QuestionRecord(Struct, frozen=True):
    """What the journal has of a question to the client."""

    item: str
    """The ID of the output item."""
    agent: str


class ClientAnswer(Struct, frozen=True):
    """An answer of the client: to a request for approval, or the output of a function."""

    approved: bool = False
    reason: str = ""
    output: str | None = ""
    """None if it is more than text."""


to_bytes = msgspec.json.Encoder().encode
question_of = msgspec.json.Decoder(QuestionRecord).decode


def call_id_of(item_id: str) -> str:
    """Return the `call_id` of a function call with this ID."""
    return CALL + item_id.removeprefix(FUNCTION)


def item_answered(item: Any) -> str:
    """Return the ID of the item that an input item answers, empty if it is no answer."""
    if isinstance(item, McpApprovalResponse) and not item.approval_request_id.startswith(FUNCTION):
        return item.approval_request_id
    if isinstance(item, FunctionCallOutput) and item.call_id and item.call_id.startswith(CALL):
        return FUNCTION + item.call_id.removeprefix(CALL)
    return ""


def answers_in(request: CreateResponse) -> dict[str, ClientAnswer]:
    """Return the answers of a request, by the IDs of the items that they answer."""
    items = request.input if isinstance(request.input, list) else []
    return {item_id: _answer_of(item) for item in items if (item_id := item_answered(item))}


def _answer_of(item: Any) -> ClientAnswer:
    if isinstance(item, McpApprovalResponse):
        return ClientAnswer(item.approve, item.reason or "")
    if isinstance(item.output, str):
        return ClientAnswer(output=item.output)
    parts = [part.text for part in item.output if isinstance(part, InputText)]
    return ClientAnswer(output="".join(parts) if len(parts) == len(item.output) else None)


def digest_of(answers: Mapping[str, ClientAnswer]) -> bytes:
    """Return the digest of answers, in any order."""
    return sha256(to_bytes(sorted(answers.items()))).digest()


def run_expired() -> ClientError:
    """Return the error for answers to a run of which a response is not stored any more."""
    return ClientError(
        "A response of the run that waits for this answer was deleted or has expired, so what the "
        "agent did in it is unknown. Send a new message to start again.",
        code="agent_run_expired",
        param="input",
    )
