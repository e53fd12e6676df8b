"""The complete, stateful OpenAI Responses API over any Chat Completions backend."""

__version__ = "0.1.0"
