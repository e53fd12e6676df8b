"""Events being made: Chat Completions chunks in, Responses events out. No I/O."""
