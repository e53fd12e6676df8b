"""The translation alone: a backend's bytes in, the client's bytes out, in this process and without
a socket.
"""

import time
from collections.abc import Sequence

from antiphon.ids import new_id, now
from antiphon.protocol.response import Response
from antiphon.translation.from_chat.reader import ChatStream
from antiphon.translation.wire import AnswerReader, encode
from antiphon.translation.writer import ResponseWriter, View
from bench.backend import DELTAS, END, EVENTS

BURST = [b"".join(EVENTS)]
"""Every delta in one read; `EVENTS` is a read for each."""

_STREAMS = 20


def microseconds(reads: Sequence[bytes]) -> float:
    """Return what one delta of a stream takes of processor time, in µs, where its bytes come in
    these reads.
    """
    began = time.process_time()
    for _ in range(_STREAMS):
        translated(reads)
    return (time.process_time() - began) / (_STREAMS * DELTAS) * 1e6


def translated(reads: Sequence[bytes]) -> bytes:
    """Return the events of the response that a backend's bytes become."""
    response = Response(id=new_id("resp"), created_at=int(now()), model="burst")
    # Obfuscated, because that is how a stream is sent unless its client asks otherwise.
    writer = ResponseWriter(
        response, new_id, now, seal=lambda state: "", view=View(obfuscation=True)
    )
    answer = AnswerReader(ChatStream(writer))
    writer.start()
    events = b""
    for read in (*reads, END):
        answer.feed(read)
        events += encode(writer.take())
    writer.complete(answer.finish().usage)
    writer.end()
    return events + encode(writer.take())
