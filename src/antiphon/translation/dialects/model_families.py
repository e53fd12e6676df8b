"""Families of models that differ from other models of the same server, recognised by their
names.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec import Struct

from antiphon.translation.dialects.dialect import Dialect


class ModelFamily(Struct, frozen=True):
    """What is sent differently to models of a family, wherever they run."""

    name: re.Pattern[str]
    """Matches the model's name at its backend."""
    changes: Mapping[str, Any]
    """Fields of the dialect."""
    not_at: frozenset[str] = frozenset()
    """Dialects that translate for the family themselves."""


MODEL_FAMILIES = (
    # Its thoughts are part of its answers, and its template reads them back from the content;
    # without them it repeats calls: lobehub PR#10255, loom-router PR#33. OpenRouter and others give
    # them as fields, and take those back.
    ModelFamily(
        re.compile(r"\bminimax[/_-]?m\d", re.IGNORECASE),
        {"reasoning": "think_tags", "replay": "always", "reasoning_required": False},
        not_at=frozenset({"openrouter", "vercel"}),
    ),
)


def for_model(dialect: Dialect, model: str) -> Dialect:
    """Return a backend's dialect as it is for a model with this name.

    >>> from antiphon.translation import find_dialect
    >>> generic = find_dialect("", owned_by=set(), server="", configured="generic")
    >>> for_model(generic, "MiniMaxAI/MiniMax-M2").reasoning
    'think_tags'
    """
    for family in MODEL_FAMILIES:
        if dialect.name not in family.not_at and family.name.search(model):
            dialect = replace(dialect, **family.changes)
    return dialect
