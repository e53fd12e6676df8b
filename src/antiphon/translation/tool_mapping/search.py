"""Finds deferred tools by words (specification section 16, hosted tool search): BM25 over the
description of each.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from antiphon.protocol.tools import AnyTool, FunctionTool, McpTool, NamespaceTool
from antiphon.translation.tool_mapping.offering import Deferred

FOUND = 8
"""Tools that a search finds at most, if the model sets no limit."""

MOST = 64
"""Tools that a search finds at most."""

WORDS = 64
"""Words of a query that are used."""

_K1, _B = 1.2, 0.75
"""How soon repeated words stop counting, and how much long texts are penalised."""

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")


def search(deferred: Sequence[Deferred], arguments: Any) -> list[AnyTool]:
    """Return the tools that match a search's arguments, the best first.

    Those of a namespace are returned inside it; those of an MCP server as its name with theirs.

    `arguments` is `{query, limit?}`. A query that is the name of a tool or of a namespace always
    finds it.
    """
    provided = arguments if isinstance(arguments, dict) else {}
    query = provided.get("query") or " ".join(str(value) for value in provided.values())
    limit = provided.get("limit")
    limit = min(limit, MOST) if isinstance(limit, int) and limit > 0 else FOUND
    scores = _scores([_words(_about(each)) for each in deferred], _words(str(query)))
    named = [math.inf if str(query).strip() in _names(each) else 0.0 for each in deferred]
    total = [score + bonus for score, bonus in zip(scores, named, strict=True)]
    best = sorted(
        (index for index, score in enumerate(total) if score > 0), key=lambda index: -total[index]
    )
    return _grouped(deferred[index] for index in best[:limit])


def _names(each: Deferred) -> set[str]:
    group = _group(each)
    return {each.tool.name} | ({group[0]} if group else set())


def _group(each: Deferred) -> tuple[str, str] | None:
    """Return the name and the description of the namespace or server that a tool belongs to."""
    if each.server is not None:
        return each.server.server_label, each.server.server_description or ""
    return (each.namespace.name, each.namespace.description) if each.namespace else None


def _about(each: Deferred) -> str:
    parameters = (each.tool.parameters or {}) if isinstance(each.tool, FunctionTool) else {}
    properties = parameters.get("properties")
    names = " ".join(properties) if isinstance(properties, dict) else ""
    of = " ".join(_group(each) or ())
    # The name is the most significant: it counts twice.
    return f"{each.tool.name} {each.tool.name} {each.tool.description or ''} {of} {names}"


def _words(text: str) -> Counter[str]:
    return Counter(_stem(word.lower()) for word in _WORDS.findall(text))


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _scores(texts: Sequence[Counter[str]], query: Counter[str]) -> list[float]:
    sizes = [text.total() for text in texts]
    usual = (sum(sizes) / len(sizes) if sizes else 0) or 1
    scores = [0.0] * len(texts)
    for word in islice(query, WORDS):
        having = [index for index, text in enumerate(texts) if word in text]
        weight = math.log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
        for index in having:
            count = texts[index][word]
            retained = _K1 * (1 - _B + _B * sizes[index] / usual)
            scores[index] += weight * count * (_K1 + 1) / (count + retained)
    return scores


def _grouped(found: Iterable[Deferred]) -> list[AnyTool]:
    tools: dict[str, AnyTool] = {}
    servers: dict[str, list[str]] = {}
    for each in found:
        if each.server is not None:
            label = each.server.server_label
            servers.setdefault(label, []).append(each.tool.name)
            tools[f"mcp {label}"] = McpTool(server_label=label, allowed_tools=servers[label])
            continue
        if each.namespace is None:
            tools[f"tool {each.tool.name}"] = each.tool
            continue
        key = f"namespace {each.namespace.name}"
        known = tools.get(key)
        inner = known.tools if isinstance(known, NamespaceTool) else []
        tools[key] = NamespaceTool(
            name=each.namespace.name,
            description=each.namespace.description,
            tools=[*inner, each.tool],
        )
    return list(tools.values())
