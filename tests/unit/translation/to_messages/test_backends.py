"""Recorded answers of chat backends as Messages streams: the grammar holds, and the stream is the
plain message.
"""

from pathlib import Path

import pytest

from antiphon.protocol.events import Event
from antiphon.translation.from_messages.view import MessagesView
from antiphon.translation.to_messages.blocks import Blocks
from antiphon.translation.to_messages.encoder import MessagesEncoder
from antiphon.translation.to_messages.message import message_of
from antiphon.translation.wire import AnswerReader, conclude
from antiphon.translation.writer import ResponseWriter, View
from tests.support.cases import each
from tests.support.messages_stream import events_in, fold, violations
from tests.support.recordings import MISSING, recorded
from tests.support.translate import at_random, begin

STREAMS = recorded("*.sse")

pytestmark = pytest.mark.skipif(not STREAMS, reason=MISSING)


def batches(path: Path, *, summary: bool) -> tuple[list[list[Event]], ResponseWriter]:
    """The events of a recorded answer, as they come with each read of it."""
    translation = begin(View(encrypted=True, summary=summary, obfuscation=True))
    writer = translation.writer
    reader = AnswerReader(translation.chat)
    found = [writer.take()]
    for part in at_random(path.name, 20)(path.read_bytes()):
        reader.feed(part)
        found.append(writer.take())
        if reader.is_over:
            break
    conclude(writer, reader.finish())
    writer.end()
    return [*found, writer.take()], writer


@pytest.mark.wide
@each("path", STREAMS, ids=lambda path: str(path.stem))
def test_a_recorded_answer_is_a_stream_and_the_same_message(path: Path) -> None:
    """litellm#33224, ollama#17101: whatever the order of a backend's deltas."""
    for display, summary in (("summarized", True), ("summarized", False), ("omitted", False)):
        view = MessagesView(display=display)  # type: ignore[arg-type]
        found, writer = batches(path, summary=summary)
        encoder = MessagesEncoder(Blocks(view=view, sealed=writer.sealed), "m", 10, "req_1")
        stream = b"".join(map(encoder.encode, found))
        assert violations(stream) == []
        if writer.response.status == "failed":
            assert [name for name, _ in events_in(stream)][-1] == "error"
            continue
        assert fold(stream) == message_of(
            writer.response, Blocks(view=view, sealed=writer.sealed), "m"
        )
