"""Chunks to events, piece by piece: for a program that has the chunks already."""

import itertools

from antiphon import ChatStream, Response, ResponseWriter, conclude, decode_chunk, encode

CHUNKS = [
    b'{"choices": [{"delta": {"reasoning_content": "A greeting."}}]}',
    b'{"choices": [{"delta": {"content": "Good "}}]}',
    b'{"choices": [{"delta": {"content": "day"}, "finish_reason": "stop"}]}',
]

numbers = itertools.count(1)
writer = ResponseWriter(
    Response(id="resp_1", created_at=1795125600, model="m"),
    new_id=lambda prefix: f"{prefix}_{next(numbers)}",  # ids and clock are yours, so a test can be exact
    now=lambda: 1795125601,
    seal=lambda state: "",  # keeps a signature of the backend's for the next turn
)
writer.start()
chat = ChatStream(writer)
for chunk in CHUNKS:
    chat.feed(decode_chunk(chunk))
    print(encode(writer.take()).decode(), end="")  # what a client would get by now

conclude(writer, chat.finish(done=True))  # done: the backend said [DONE]
writer.end()
print(encode(writer.take()).decode(), end="")
