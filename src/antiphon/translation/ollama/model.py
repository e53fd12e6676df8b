"""What Ollama states about a model, and the window to load it with.

`/api/show` states the window that the model was trained for, the `num_ctx` of its Modelfile and its
capabilities, and `/api/ps` the window of a model in memory.

A change of the window reloads the model, which takes seconds and drops its prompt cache. So windows
grow in powers of two and never shrink while the model is in memory. They start small, because a
window takes memory for each of its tokens whether they are used or not: 128 KiB for a model of 8
billion parameters with 32 layers and 8 heads for keys and values of 128 numbers each, in 16 bits.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from antiphon.translation.to_chat_completions.request import output_cap
from antiphon.translation.to_chat_completions.tokens import tokens_of

FIRST = 8_192
"""Tokens of the smallest window: 1 GiB for the model above."""

ANSWER = 4_096
"""Tokens of the window that are reserved for the answer, if the request does not say."""

THOUGHTS = 8_192
"""Additional tokens reserved for a model that thinks: an answer that fills the window ends
there.
"""

_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
_CLOUD = re.compile(r"[:-]cloud$")
"""Suffixes of model names that a local Ollama forwards to its own cloud service."""


class OllamaModel(Struct, frozen=True):
    """What Ollama states about a model; None for what it does not state."""

    trained: int | None = None
    """Tokens of the window that the model was trained for."""
    modelfile: int | None = None
    """`num_ctx` of its Modelfile."""
    loaded: int | None = None
    """Tokens of its window in memory; also None if it is not in memory."""
    capabilities: frozenset[str] | None = None
    is_remote: bool = False
    """Whether Ollama's own service answers for it, with a window of its own."""

    def limit(self, num_ctx: int, window: int | None = None) -> int:
        """Return the largest window to load: `window`, if the operator configured one, else
        `num_ctx`.

        A window that the model has already, or that its Modelfile sets, is allowed too.
        """
        most = window or max(num_ctx, self.loaded or 0, self.modelfile or 0)
        return min(most, self.trained) if self.trained else most

    @property
    def thoughts(self) -> int:
        """Tokens that are reserved for its thinking."""
        return THOUGHTS if self.thinks else 0

    @property
    def thinks(self) -> bool | None:
        """Whether it can think, None if that is unknown."""
        return None if self.capabilities is None else "thinking" in self.capabilities


def read_model(name: str, show: Any, ps: Any) -> OllamaModel:
    """Return what the JSON answers of `/api/show` and `/api/ps` state; any other values state
    nothing.
    """
    show = _object(show)
    parameters = show.get("parameters")
    capabilities = show.get("capabilities")
    set_to = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    windows = (
        value
        for key, value in _object(show.get("model_info")).items()
        if key.endswith(".context_length")
    )
    return OllamaModel(
        trained=next((count for value in windows if (count := _count(value))), None),
        modelfile=int(set_to[1]) or None if set_to else None,
        loaded=_count(
            member(_object(ps).get("models"), name, "name", "model").get("context_length")
        ),
        capabilities=frozenset(map(str, capabilities)) if isinstance(capabilities, list) else None,
        is_remote=bool(_CLOUD.search(name) or show.get("remote_host")),
    )


def enough(body: Mapping[str, Any]) -> int:
    """Return the tokens of a window that fits this Chat request and its answer, without thinking.

    The estimate of the prompt is within a quarter for English prose, so a quarter is added.
    """
    return tokens_of(body) * 5 // 4 + (output_cap(body) or ANSWER)


def next_window(needed: int, reserved: int, limit: int) -> int:
    """Return the window for this many tokens: the one that the model has, or the next power of two,
    up to `limit`.
    """
    size = max(reserved, FIRST)
    while size < needed:
        size = 1 << size.bit_length()
    return min(size, max(limit, reserved))


def member(values: Any, model: str, *keys: str) -> Mapping[str, Any]:
    """Return the object of a list that is about this model; Ollama lists `llama3:latest` for
    `llama3`.
    """
    names = {model, f"{model}:latest"}
    objects = [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []
    return next((one for one in objects if any(one.get(key) in names for key in keys)), {})


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
