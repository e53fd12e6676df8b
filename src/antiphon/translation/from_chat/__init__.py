"""Events being made: Chat Completions chunks in, Responses events out. No I/O.

bytes ── `sse.EventDecoder` ──> data ── `decode.decode_chunk` ──> chunk ── `chat.ChatStream` ──> `writer.ResponseWriter`
──> events ── `sse.encode` ──> bytes
"""
