"""Translates Chat Completions requests into requests of Anthropic's Messages API, without I/O."""
