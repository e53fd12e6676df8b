"""The context window of a model, as configured, measured or reported by its backend."""

from collections.abc import Iterator, Mapping
from typing import Any

from antiphon.upstream.backend_state import BackendState

STATED_AS = (
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
)
"""Fields of a listed model that contain its window: vLLM and SGLang, OpenRouter and Together, Groq,
Mistral, Anthropic.
"""

META = "meta"
"""The field in which llama.cpp describes its model, with `n_ctx`: the window of a slot."""


def context_window(state: BackendState, model: str, name: str) -> int | None:
    """Return the maximum tokens of prompt and answer together, None if unknown.

    `model` is the name that the backend uses itself, `name` the one that clients use. Ollama loads
    the window that a prompt needs, so for Ollama it is the largest one.
    """
    if state.native is not None:
        return state.native.largest(model)
    if (known := state.profile_of(model, name).context_window) is not None:
        return known
    return next((window for _, window in stated_windows(state.listed(model))), None)


def stated_windows(listed: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the fields of a listed model that contain its window, with their tokens."""
    meta = listed.get(META)
    values = {field: listed.get(field) for field in STATED_AS}
    if isinstance(meta, dict):
        values[f"{META}.n_ctx"] = meta.get("n_ctx")
    for field, value in values.items():
        if isinstance(value, int) and value > 1:  # `true` is 1
            yield field, value
