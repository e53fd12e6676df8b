"""Says in words what the schema of a tool's arguments cannot say once its root is one object."""

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.translation.to_chat_completions.schema_reading import Schema, SchemaReading

LONGEST = 1_500
"""Characters of the words that describe alternatives or one rule; those that do not fit are counted
or named.
"""

LONGEST_TEXT = 8_000
"""Characters of all words about one schema."""

LONGEST_LABEL = 300
"""Characters of a title and a description that name an alternative."""

NOTES = frozenset({"title", "description", "default", "examples"})
"""Keywords that permit and forbid nothing."""

PLACES = frozenset(
    {"$defs", "definitions", "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$comment"}
)
"""Keywords about the schema itself."""

_LONGEST_VALUES = 200
_MOST_VALUES = 50
_LONGEST_RULES = 400


def joined(words: Iterable[str]) -> str:
    """Return words as paragraphs of one text; those that are too long are counted."""
    stored: list[str] = []
    length = left_out = 0
    for each in words:
        if length + len(each) > LONGEST_TEXT:
            left_out += 1
        else:
            stored.append(each)
            length += len(each)
    more = [f"{left_out} more rules or notes are too long to be shown here."] if left_out else []
    return "\n".join([*stored, *more])


def rule(keywords: Schema, reading: SchemaReading) -> str:
    """Return what keywords demand of the arguments."""
    written = reading.json(keywords)
    if len(written) <= LONGEST:
        return f"The arguments must fit {written}."
    return (
        f"The arguments must also fit the tool's rules for {_listed(keywords)}, "
        "which are too long to be shown here."
    )


def form(
    rest: Schema,
    required: Iterable[str],
    properties: Schema,
    words: Iterable[str],
    reading: SchemaReading,
) -> str:
    """Return an alternative: its properties, the values of those that it determines, and what else
    it says.

    A text longer than `LONGEST` is not complete.
    """
    needed = dict.fromkeys(required)
    texts: list[str] = []
    length = 0
    for name in [*needed, *(name for name in properties if name not in needed)]:
        reading.take(1)
        texts.append(_member(name, properties.get(name), reading, is_required=name in needed))
        length += len(texts[-1])
        if length > LONGEST:
            break
    text = ", ".join(texts) or "any object"
    label = _label(rest)
    rules = {
        name: value
        for name, value in rest.items()
        if name not in NOTES | PLACES and not isinstance(value, bool)
    }
    more = [_rules(rules, reading)] if rules else []
    return "; ".join([f"{label}: {text}" if label else text, *more, *words])


def alternatives(beginning: str, forms: Sequence[str]) -> str:
    """Return a list of alternatives; those that do not fit are counted."""
    text = beginning
    left = len(forms)
    for number, each in enumerate(forms, 1):
        line = f"\n{number}. {each}"
        if len(text) + len(line) > LONGEST:
            break
        text = text + line
        left = left - 1
    return f"{text}\n… and {left} more." if left else text


def values_of(schema: Any) -> list[Any] | None:
    """Return the values that a schema lists, None if it says anything else about them."""
    if not isinstance(schema, dict) or not schema.keys() <= NOTES | {"const", "enum", "type"}:
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _member(name: str, schema: Any, reading: SchemaReading, *, is_required: bool) -> str:
    values = values_of(schema) or ()
    written = " or ".join(map(reading.json, values)) if len(values) <= _MOST_VALUES else ""
    text = f"{name} = {written}" if written and len(written) <= _LONGEST_VALUES else name
    return text if is_required else f"{text} (optional)"


def _label(rest: Schema) -> str:
    title, description = (_line(rest.get(name)) for name in ("title", "description"))
    both = f"{title} ({description})" if title and description else title or description
    return both if len(both) <= LONGEST_LABEL else f"{both[:LONGEST_LABEL]}…"


def _line(text: Any) -> str:
    return " ".join(text[: 4 * LONGEST_LABEL].split()) if isinstance(text, str) else ""


def _rules(rules: Schema, reading: SchemaReading) -> str:
    written = reading.json(rules)
    return (
        f"fits {written}"
        if len(written) <= _LONGEST_RULES
        else f"with further rules ({_listed(rules)})"
    )


def _listed(keywords: Iterable[str]) -> str:
    text = ", ".join(f"`{name}`" for name in keywords)
    return text if len(text) <= _LONGEST_RULES else f"{text[:_LONGEST_RULES]}…"
