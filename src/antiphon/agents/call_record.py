"""What the journal has of a call of a model: enough to continue it, and at its end its response, or
how it failed.

A call is a run of this server within a step. Its items and its checkpoint are those of a background
response (`recording/checkpoints.py`), so the same code resumes both, and a tool that can change
something is not executed again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from antiphon.agents.steps import StepError
from antiphon.errors import ClientError
from antiphon.history.decoding import load_item
from antiphon.history.encoding import store_item
from antiphon.protocol.items.content import Item
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response, Usage
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.checkpoints import Checkpoint
from antiphon.recording.persistence import encode_json
from antiphon.runs.plan import ResumeState
from antiphon.storage.records.responses import StoredItem
from antiphon.translation.writer import output_text

NOT_FOR_CALLS = ("background", "conversation", "store", "stream", "stream_options")
"""Parameters that concern how a client receives or stores a response."""


class RecordedItem(Struct):
    """An item that was closed."""

    item: Raw
    sealed: str | None = None


class ModelCallRecord(Struct, omit_defaults=True):
    """A call, as far as it went."""

    items: list[RecordedItem] = []
    checkpoint: Checkpoint = msgspec.field(default_factory=Checkpoint)
    response: Raw = Raw(b"null")
    """The response without its output, once it has ended; null also if it never began."""
    failure: StepError | None = None
    """How it failed; None if it did not."""
    cost: int = 0
    """What it cost so far, in nano-units; nothing for models without a price."""

    def add(self, item: Item, sealed: str | None) -> None:
        """Add an item that was closed."""
        stored = store_item(item, sealed)
        self.items.append(RecordedItem(Raw(stored.body), stored.sealed))

    def output(self) -> list[Any]:
        """Return the items, each with its `encrypted_content`."""
        return [load_item(StoredItem("", bytes(one.item), one.sealed)) for one in self.items]

    def end(self, response: Response) -> None:
        """Take the response at its end: completed, incomplete or failed."""
        self.checkpoint = Checkpoint()
        self.response = Raw(encode_json(replace(response, output=[])))
        if response.error is not None:
            self.failure = StepError(response.error.code, response.error.message)

    def usage(self) -> Usage | None:
        """Return the tokens of a call that has ended."""
        response = msgspec.json.decode(self.response, type=Response | None)
        return None if response is None else response.usage

    def result(self) -> Response:
        """Return the response of a call that has succeeded."""
        response = msgspec.json.decode(self.response, type=Response)
        response = replace(response, output=self.output())
        return replace(response, output_text=output_text(response))

    def resume_state(self, created_at: int, size: int) -> ResumeState:
        """Return the state from which a run continues."""
        output = self.output()
        return ResumeState(
            created_at=created_at,
            stored=output,
            sealed={
                str(item.id): one.sealed
                for item, one in zip(output, self.items, strict=True)
                if one.sealed
            },
            next_number=0,
            begins=not output and not self.checkpoint.calls,
            checkpoint=self.checkpoint,
            size=size,
        )


to_bytes = msgspec.json.Encoder().encode
from_bytes = msgspec.json.Decoder(ModelCallRecord).decode


def request_of(
    model: str, input: str | Sequence[Any], parameters: Mapping[str, Any]
) -> tuple[CreateResponse, bytes]:
    """Return the request of a call, and its JSON.

    Raises `ValueError` for a parameter that a call cannot have, and for an invalid one.
    """
    if unfit := [name for name in NOT_FOR_CALLS if name in parameters]:
        raise ValueError(f"A call of a model has no parameter {unfit[0]!r}.")
    body = msgspec.json.encode({"model": model, "input": input, **parameters, "stream": True})
    try:
        return decode_request(body), body
    except ClientError as error:
        raise ValueError(error.message) from None
