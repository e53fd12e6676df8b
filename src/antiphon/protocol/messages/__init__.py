"""Anthropic's Messages API as data: bodies of requests, results, errors and lists of models."""
