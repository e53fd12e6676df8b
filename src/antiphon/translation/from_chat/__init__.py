"""Creates events: Chat Completions chunks in, Responses events out. No I/O.

bytes ── `wire.AnswerReader` ──> data ── `decode.decode_chunk` ──> chunk ── `reader.ChatStream` ──>
items ── `writer.ResponseWriter` ──> events ── `wire.encode` ──> bytes
"""
