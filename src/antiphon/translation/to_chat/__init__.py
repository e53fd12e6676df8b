"""A Responses request becomes a Chat Completions request. No I/O."""
