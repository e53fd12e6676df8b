"""Translates a Responses request into a Chat Completions request. No I/O."""
