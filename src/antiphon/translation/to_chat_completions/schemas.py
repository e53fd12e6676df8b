"""Removes the keywords from a JSON Schema that a backend does not accept.

A backend converts a schema into a grammar, and rejects the request if its compiler does not support
a keyword or its value. `GROUPS` are those keywords in the order in which they are removed: first
those that are rejected most often, and that cost the model least. A removed group is a lesson
(`learned.refused_schema`). The values of the keywords are added to the description next to them, so
that the model still reads them.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

Schema = dict[str, Any]

ANY = "any"
"""The lesson that a backend accepts none of the schemas sent: only names and descriptions
remain.
"""

LONGEST_NOTE = 500
"""Characters of keywords that are added to a description; the rest is omitted."""


LARGE = 500
"""Repetitions that some compilers do not unroll; nested ones multiply, so this is well below their
limits.
"""

_CLASS = re.compile(r"\\[a-zA-Z]")


def _has_class(pattern: Any) -> bool:
    return isinstance(pattern, str) and _CLASS.search(pattern) is not None


def _is_open(pattern: Any) -> bool:
    return isinstance(pattern, str) and not (pattern.startswith("^") and pattern.endswith("$"))


def _is_large(bound: Any) -> bool:
    return isinstance(bound, int | float) and bound > LARGE


class Group(Struct, frozen=True):
    """Keywords that a backend rejects together."""

    name: str
    keywords: frozenset[str]
    words: str = ""
    """A regular expression, lower case: how a backend's error means the group without naming a
    keyword.
    """
    only: Callable[[Any], bool] | None = None
    """The values that are rejected, if others are accepted."""

    def has(self, keyword: str, value: Any) -> bool:
        """Whether a keyword with this value belongs to the group."""
        return keyword in self.keywords and (self.only is None or self.only(value))


_BOUNDS = frozenset(
    {
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
    }
)

GROUPS = (
    # llama.cpp: "failed to parse grammar" for `\S` and `\d` (dreb#422, hermes-agent#67349), which
    # end the process of llama-cpp-python 0.3.36 (tests/system/model_servers/test_llama_cpp.py).
    # llama.cpp 0.5 accepts any string instead (tests/system/model_servers/test_llama_server.py).
    Group("classes", frozenset({"pattern"}), only=_has_class),
    # llama.cpp unrolls at most 2,000 repetitions: "number of repetitions exceeds sane defaults"
    # (llama.cpp#17473, firecrawl#4512 with `maxLength: 10000`, unsloth#9923 with 2000); they end
    # llama-cpp-python as well.
    Group("large", _BOUNDS, r"repetitions?\b|sane defaults", only=_is_large),
    # llama.cpp: "Pattern must start with '^' and end with '$'" (llama.cpp#26930,
    # kubernetes-mcp-server#758). Version 0.5 accepts any string instead.
    Group("anchors", frozenset({"pattern"}), r"pattern must start with", only=_is_open),
    # "failed to parse grammar" for a pattern inside a list (llama.cpp#25895).
    # Ollama: "invalid JSON schema in format" (ollama#8185, #12726).
    Group("pattern", frozenset({"pattern"}), r"\bregex\b|regular expression"),
    # Smaller bounds multiply where they nest (amd-strix-halo-toolboxes#70). vLLM:
    # `uniqueItems` (xgrammar).
    Group("bounds", _BOUNDS, r"repetitions?\b|sane defaults"),
    # llama.cpp knows a few formats; strict modes and vLLM's llguidance name the ones that they
    # do not know.
    Group("format", frozenset({"format"}), r"unknown format|unsupported format|not a valid format"),
    # "Unimplemented keys: ["propertyNames"]" (club-3090#45, llguidance).
    # vllm#30390 leaves these two unsupported in xgrammar, and llguidance#265 accepts
    # `patternProperties` and breaks the answer.
    Group(
        "names",
        frozenset(
            {"patternProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}
        ),
    ),
    # OpenAI's rules for strict schemas permit none of these; llama.cpp and llguidance implement no
    # `not` and no `if`.
    Group(
        "logic",
        frozenset(
            {"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies"}
        )
        | {"contains", "minContains", "maxContains"},
    ),
    # xgrammar: `multipleOf`, and bounds of numbers before its version 0.1.12 (xgrammar#192).
    Group(
        "numbers",
        frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    ),
    # References that a compiler does not follow, recursive ones above all (marker#984 at Ollama).
    Group(
        "references", frozenset({"$ref", "$dynamicRef", "$defs", "definitions"}), r"\breferences?\b"
    ),
)
"""See the module."""

_BY_NAME: Mapping[str, Group] = {group.name: group for group in GROUPS}
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords with a schema for each name."""

_DATA = frozenset({"const", "default", "enum", "example", "examples", "required"})
"""Keywords with a value that is not a schema."""

_UNSTATED = frozenset({"$defs", "definitions", "$ref", "$dynamicRef"})
"""Keywords that are meaningless to a model that reads one description."""


def projected(schema: Schema, lessons: Collection[str]) -> Schema:
    """Return the schema without the groups that `lessons` names; the result is weaker, never
    different.
    """
    if ANY in lessons:
        return _names_only(schema)
    return _without(schema, [_BY_NAME[lesson] for lesson in lessons])


def groups_in(schemas: Collection[Schema]) -> list[str]:
    """Return the groups that these schemas use, in order, and `ANY` last if more can be removed."""
    used = [pair for schema in schemas for node in _nodes(schema) for pair in node.items()]
    found = [group.name for group in GROUPS if any(group.has(*pair) for pair in used)]
    return [*found, ANY] if any(_names_only(schema) != schema for schema in schemas) else found


def groups_of(keywords: Collection[str]) -> frozenset[str]:
    """Return the groups of these keywords, whatever their values."""
    return frozenset(
        group.name
        for group in GROUPS
        if group.only is None and not group.keywords.isdisjoint(keywords)
    )


def schemas_in(body: Mapping[str, Any]) -> list[Schema]:
    """Return the schemas that a Chat request sends: those of its tools' parameters, and that of its
    answer.
    """
    functions = [tool.get("function") or {} for tool in body.get("tools") or ()]
    form = body.get("response_format") or {}
    provided = [
        *(function.get("parameters") for function in functions),
        (form.get("json_schema") or form).get("schema"),
    ]
    return [schema for schema in provided if isinstance(schema, dict)]


def _names_only(schema: Schema) -> Schema:
    properties = schema.get("properties")
    members = properties.items() if isinstance(properties, dict) else ()
    return {"type": "object", "properties": {name: _described(member) for name, member in members}}


def _described(member: Any) -> Schema:
    text = member.get("description") if isinstance(member, dict) else None
    return {"description": text} if isinstance(text, str) else {}


def _nodes(schema: Schema) -> Iterator[Schema]:
    """Yield each subschema, outer ones first, without recursion: clients nest schemas as deep as
    they like.
    """
    pending = [schema]
    for node in pending:
        yield node
        for keyword, value in node.items():
            if keyword in _DATA:
                continue
            inner: Collection[Any] = (
                (value,) if isinstance(value, dict) and keyword not in _MAPS else ()
            )
            if isinstance(value, dict | list) and not inner:
                inner = value.values() if isinstance(value, dict) else value
            pending += [one for one in inner if isinstance(one, dict)]


def _without(schema: Schema, dropped: Sequence[Group]) -> Schema:
    """Return a copy without these groups at any depth. Without recursion, as `_nodes`."""
    root: Schema = {}
    pending: list[tuple[Schema, Schema]] = [(schema, root)]
    for node, copy in pending:
        lost = {
            keyword: value
            for keyword, value in node.items()
            if any(one.has(keyword, value) for one in dropped)
        }
        for keyword, value in node.items():
            if keyword not in lost:
                copy[keyword] = value if keyword in _DATA else _copied(keyword, value, pending)
        if note := noted(
            {keyword: value for keyword, value in lost.items() if keyword not in _UNSTATED}
        ):
            stated = copy.get("description")
            copy["description"] = f"{stated} {note}" if isinstance(stated, str) else note
    return root


def _copied(keyword: str, value: Any, pending: list[tuple[Schema, Schema]]) -> Any:
    """Return a copy of a keyword's value; the schemas inside are `pending`, and filled in later."""

    def later(inner: Any) -> Any:
        if not isinstance(inner, dict):
            return inner
        copy: Schema = {}
        pending.append((inner, copy))
        return copy

    if isinstance(value, dict) and keyword in _MAPS:
        return {name: later(inner) for name, inner in value.items()}
    return [later(inner) for inner in value] if isinstance(value, list) else later(value)


def noted(lost: Schema) -> str:
    """Return removed keywords as words for a description; empty for none, and for too many."""
    if not lost:
        return ""
    written = msgspec.json.encode(lost).decode()
    return f"Must fit {written}." if len(written) <= LONGEST_NOTE else ""
