"""Names of Claude's models, and the models of this server that answer to them."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

ANY = "*"
"""In a pattern, any text."""


def model_of(name: str, models: Mapping[str, str], listed: Collection[str]) -> str:
    """Return the model that answers to a name.

    `models` has models by patterns, of which the first that matches counts. A name that a backend
    has `listed` is that of its own model.
    """
    if name in listed:
        return name
    return next((model for pattern, model in models.items() if _matches(pattern, name)), name)


def aliases(models: Mapping[str, str], listed: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the names without `*` that listed models have here, and their models."""
    for name, model in models.items():
        if ANY not in name and name not in listed and model in listed:
            yield name, model


def _matches(pattern: str, name: str) -> bool:
    return _compiled(pattern).fullmatch(name) is not None


@lru_cache(1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split(ANY))), re.DOTALL)
