"""The bench's backend, which answers at `/v1/responses` too: `python -m bench.peers.backend` prints
its port.

A peer that merely passes on what it gets asks for Responses; one that translates asks for Chat
Completions.
"""

import itertools
import json
import re

from bench.backend import ANSWER, EVENTS, Replay
from bench.translator import translated
from bench.wire import EVENT_STREAM, LAST_CHUNK, chunked, serve, whole

_PLAIN = json.loads(ANSWER)["choices"][0]["message"]["content"]
_EVENTS = translated([b"".join(EVENTS)])
_STREAM = EVENT_STREAM + chunked(_EVENTS) + LAST_CHUNK


def _whole() -> bytes:
    """Return the response of the stream's end, with the text of the plain answer."""
    last = _EVENTS.rpartition(b"event: response.completed\ndata: ")[2].partition(b"\n\n")[0]
    response = json.loads(last)["response"]
    response["output"][0]["content"][0]["text"] = _PLAIN
    return whole(b"application/json", json.dumps(response, separators=(",", ":")).encode())


_RESPONSE = _whole()

_IDS = sorted(set(re.findall(rb"\b(?:resp|msg)_\w+", _STREAM)))
_numbers = itertools.count(1)


def _again(answer: bytes) -> bytes:
    """Return an answer with ids of its own, as long as those before: who stores it keeps one row
    for each.
    """
    number = next(_numbers)
    for known in _IDS:
        answer = answer.replace(known, b"%b%0*d" % (known[:8], len(known) - 8, number))
    return answer


class Both(Replay):
    """One connection of the backend."""

    def answer(self, head: bytes, body: bytes) -> None:
        """Answer in the API that was asked for."""
        if not head.startswith(b"POST /v1/responses"):
            super().answer(head, body)
        else:
            streams = b'"stream":true' in body.replace(b" ", b"")
            self.transport.write(_again(_STREAM if streams else _RESPONSE))


if __name__ == "__main__":
    serve(Both)
