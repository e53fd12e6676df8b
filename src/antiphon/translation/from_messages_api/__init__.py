"""Translates answers and errors of Anthropic's Messages API into those of Chat Completions."""
