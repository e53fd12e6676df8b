"""What backends tell of themselves beside the API: which models they have loaded, and how many slots are free."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon.engine.routing.names import is_listed


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was seen last. None stands for what the backend does not tell."""

    loaded: frozenset[str] | None = None
    """Models in its memory."""
    free: int | None = None
    """Slots that are free, by its own count."""

    def has_loaded(self, model: str) -> bool:
        """Whether this model is in its memory, as of those that do not tell."""
        return self.loaded is None or is_listed(model, self.loaded)


NOTHING = Sighting()

GAUGE = re.compile(rb"^vllm:num_requests_waiting(?:\{[^}]*\})? +([0-9.eE+-]+)", re.MULTILINE)


def of_ollama(body: bytes) -> Sighting:
    """`/api/ps`: `{"models": [{"name": "llama3:latest", …}]}`."""
    models = _members(_value(body), "models")
    return Sighting(loaded=frozenset(str(one.get("name") or one.get("model")) for one in models))


def of_llamacpp(body: bytes) -> Sighting:
    """`/slots`: `[{"id": 0, "is_processing": false, …}]`."""
    slots = _value(body)
    if not isinstance(slots, list) or not slots:
        return NOTHING
    return Sighting(free=sum(not one.get("is_processing") for one in slots if isinstance(one, dict)))


def of_vllm(body: bytes) -> Sighting:
    """`/metrics`: it batches what fits, so that a slot is free as long as nobody waits."""
    waiting = [float(number) for number in GAUGE.findall(body)]
    return Sighting(free=int(not any(waiting))) if waiting else NOTHING


PLACES: dict[str, tuple[str, Callable[[bytes], Sighting]]] = {
    "ollama": ("/../api/ps", of_ollama),
    "llamacpp": ("/../slots", of_llamacpp),
    "vllm": ("/../metrics", of_vllm),
}
"""Where a family tells it, beside its base URL, and how that is read."""


def _value(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _members(value: Any, name: str) -> list[dict[str, Any]]:
    members = value.get(name) if isinstance(value, dict) else None
    return [one for one in members if isinstance(one, dict)] if isinstance(members, list) else []
