"""Translate chunks of a chat completion into events, in a program that already has the chunks."""

import itertools

from antiphon.translation import ChatStream, ResponseWriter, conclude, decode_chunk, encode
from antiphon.types import Response

CHUNKS = [
    b'{"choices": [{"delta": {"reasoning_content": "A greeting."}}]}',
    b'{"choices": [{"delta": {"content": "Good "}}]}',
    b'{"choices": [{"delta": {"content": "day"}, "finish_reason": "stop"}]}',
]

numbers = itertools.count(1)
writer = ResponseWriter(
    Response(id="resp_1", created_at=1795125600, model="m"),
    new_id=lambda prefix: f"{prefix}_{next(numbers)}",  # you supply the ids and the clock, so a test can compare them
    now=lambda: 1795125601,
    seal=lambda state: "",  # stores a signature of the backend for the next turn
)
writer.start()
chat = ChatStream(writer)
for chunk in CHUNKS:
    chat.feed(decode_chunk(chunk))
    print(encode(writer.take()).decode(), end="")  # the events so far

conclude(writer, chat.finish(done=True))  # done: the backend sent [DONE]
writer.end()
print(encode(writer.take()).decode(), end="")
