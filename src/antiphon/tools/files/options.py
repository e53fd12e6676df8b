"""The options of a `file_search` tool (hosted tools, sections 5 and 11), which the protocol layer
does not parse.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from antiphon.protocol.tools import FileSearchTool, Tool
from antiphon.protocol.validation import refusals
from antiphon.search.contract import Ranking
from antiphon.search.filters import Filter, read_filter

MOST_STORES = 16
"""Vector stores that one tool can name."""
MOST_RESULTS = 50
USUAL_RESULTS = 20
"""Chunks that a search returns if the request names no number."""
RANKERS = ("auto", "default-2024-11-15")

_STORE_ID = re.compile(r"[a-zA-Z0-9_-]{1,512}")


@dataclass(frozen=True, slots=True)
class FileSearchOptions:
    """The fields of the tool."""

    store_ids: tuple[str, ...]
    """Each once, in the order of the request."""
    most: int
    """Maximum chunks that a search returns."""
    filters: Filter | None
    ranking: Ranking


def read_options(tool: Tool, path: str = "tools") -> FileSearchOptions:
    """Return the options of the tool at `path` of the request. Raises `ClientError` (400)."""
    if not isinstance(tool, FileSearchTool):
        raise refusals.unsupported(path)
    return FileSearchOptions(
        store_ids=_store_ids(tool.vector_store_ids, f"{path}.vector_store_ids"),
        most=_most(_provided(tool.max_num_results), f"{path}.max_num_results"),
        filters=read_filter(_provided(tool.filters), f"{path}.filters"),
        ranking=_ranking(_provided(tool.ranking_options), f"{path}.ranking_options"),
    )


def _provided(value: Any) -> Any:
    return None if value is UNSET else value


def _store_ids(ids: Sequence[str], path: str) -> tuple[str, ...]:
    if not ids:
        raise refusals.empty(path, "array")
    if len(ids) > MOST_STORES:
        raise refusals.too_long(path, "array", MOST_STORES, len(ids))
    for i, store_id in enumerate(ids):
        _check_id(store_id, f"{path}[{i}]")
    return tuple(dict.fromkeys(ids))


def _check_id(store_id: str, path: str) -> None:
    displayed = f"'{refusals.quoted(store_id)}'"
    if not store_id.startswith("vs"):
        raise refusals.invalid(path, f"{displayed}. Expected an ID that begins with 'vs'.")
    if not _STORE_ID.fullmatch(store_id):
        raise refusals.invalid(
            path,
            f"{displayed}. Expected an ID that contains letters, numbers, underscores, or dashes, "
            "but this value contained additional characters.",
        )


def _most(provided: int | None, path: str) -> int:
    if provided is None:
        return USUAL_RESULTS
    if provided < 1:
        raise refusals.number_out_of_range(path, "integer", "below", 1, provided)
    if provided > MOST_RESULTS:
        raise refusals.number_out_of_range(path, "integer", "above", MOST_RESULTS, provided)
    return provided


def _ranking(provided: Mapping[str, Any] | None, path: str) -> Ranking:
    options = dict(provided or {})
    ranker = options.pop("ranker", None)
    threshold = options.pop("score_threshold", None)
    weights = options.pop("hybrid_search", None)
    for name in options:
        raise refusals.unknown(refusals.below(path, name))
    embedding_weight, text_weight = _weights(weights, f"{path}.hybrid_search")
    return Ranking(
        ranker=_ranker(ranker, f"{path}.ranker"),
        threshold=0.0 if threshold is None else _number(threshold, f"{path}.score_threshold", 1),
        embedding_weight=embedding_weight,
        text_weight=text_weight,
    )


def _ranker(value: Any, path: str) -> str:
    if value is None:
        return "auto"
    if not isinstance(value, str):
        raise refusals.invalid_type(path, ["string"], value)
    if value not in RANKERS:
        raise refusals.invalid_value(path, value, RANKERS)
    return value


def _weights(value: Any, path: str) -> tuple[float, float]:
    """Return the weights of meaning and of words."""
    if value is None:
        return 1.0, 1.0
    if not isinstance(value, dict):
        raise refusals.invalid_type(path, ["object"], value)
    names = ("embedding_weight", "text_weight")
    for name in value:
        if name not in names:
            raise refusals.unknown(refusals.below(path, name))
    for name in names:
        if value.get(name) is None:
            raise refusals.missing(f"{path}.{name}")
    embedding, text = (_number(value[name], f"{path}.{name}") for name in names)
    if not embedding and not text:
        raise refusals.invalid(path, "both weights are 0. Expected at least one weight above 0.")
    return embedding, text


def _number(value: Any, path: str, most: float | None = None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusals.invalid_type(path, ["number"], value)
    if value < 0:
        raise refusals.number_out_of_range(path, "decimal", "below", 0, value)
    if most is not None and value > most:
        raise refusals.number_out_of_range(path, "decimal", "above", most, value)
    if not math.isfinite(float(value)):
        raise refusals.invalid(path, "expected a finite number.")
    return float(value)
