"""Under which names a backend lists the model that it answers by another."""

from collections.abc import Iterable

LATEST = ":latest"


def is_listed(model: str, listed: Iterable[str]) -> bool:
    """Whether the model is among these. Ollama lists `llama3:latest` and answers to `llama3`."""
    return any(name in (model, model + LATEST) for name in listed)
