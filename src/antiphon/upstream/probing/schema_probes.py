"""The questions about structured output: which forms a backend accepts and enforces, and which
keywords fail.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.upstream.probing.answers import ProbeAnswer
from antiphon.upstream.probing.findings import Body, Facts, Findings, Probe, stated

POEM = [stated("Write one short sentence in JSON about the sea.")]
SHAPE = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["green", "red"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


def with_schema(schema: Body, form: str = "json_schema") -> Body:
    """Return a request for an answer that matches a schema, in one of two forms of
    `response_format`.
    """
    named = {"type": "json_schema", "json_schema": {"name": "probe", "schema": schema}}
    return {
        "messages": POEM,
        "response_format": named if form == "json_schema" else _alongside(schema),
    }


def _alongside(schema: Body) -> Body:
    return {"type": "json_object", "schema": schema}


def _probe_json_object(found: Findings) -> Body:
    return {"messages": POEM, "response_format": {"type": "json_object"}}


def _judge_json_object(answer: ProbeAnswer, found: Findings) -> Facts:
    if answer.is_refusal:
        return {"json_formats": ()}
    return {"json_formats": ("json_object",)} if answer.is_good else {}


def _schema(form: str) -> Probe:
    """Return the probe whether a schema is accepted in this form, and constrains the answer.

    The form that other servers ignore is probed if the dialect has it, and the usual one is
    rejected.
    """

    def request(found: Findings) -> Body | None:
        is_relevant = form == "json_schema" or (
            form in found.dialect.json_formats and not found.schema_form
        )
        return with_schema(SHAPE, form) if is_relevant else None

    def judge(answer: ProbeAnswer, found: Findings) -> Facts:
        before = found.facts.get("json_formats")
        if answer.is_refusal:
            return {} if before is None else {"json_formats": before}
        if not answer.is_good:
            return {}
        found.schema_form = form
        facts: dict[str, Any] = {} if before is None else {"json_formats": (*before, form)}
        if not answer.is_cut:
            facts["json_held"] = answer.json in ({"colour": "green"}, {"colour": "red"})
        return facts

    return Probe(form.replace("_", "-"), 256, request, judge)


KEYWORDS: Mapping[str, Body] = {
    "pattern": {"type": "string", "pattern": "^[a-z]{1,8}$"},
    "format": {"type": "string", "format": "date-time"},
    "minLength": {"type": "string", "minLength": 1, "maxLength": 9},
    "minimum": {"type": "integer", "minimum": 1, "maximum": 9},
    "multipleOf": {"type": "integer", "multipleOf": 2},
    "minItems": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
    "uniqueItems": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "const": {"const": "sea"},
    "anyOf": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "oneOf": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    "allOf": {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}]},
    "not": {"not": {"type": "null"}},
    "patternProperties": {"type": "object", "patternProperties": {"^a": {"type": "string"}}},
    "$ref": {"$ref": "#/$defs/word"},
}
"""Keyword -> a schema that uses it, as a property. One represents its twin: `minLength` for
`maxLength`, and so on.
"""

TWINS: Mapping[str, Sequence[str]] = {
    "minLength": ("minLength", "maxLength"),
    "minimum": ("minimum", "maximum"),
    "minItems": ("minItems", "maxItems"),
    "$ref": ("$ref", "$defs"),
}


def keyword_schema(*keywords: str) -> Body:
    """Return a schema of an object with a property for each keyword."""
    properties = {f"p{number}": KEYWORDS[keyword] for number, keyword in enumerate(keywords)}
    definitions = {"$defs": {"word": {"type": "string"}}} if "$ref" in keywords else {}
    return {"type": "object", "properties": properties, "required": list(properties), **definitions}


def _probe_keywords(found: Findings) -> Body | None:
    return with_schema(keyword_schema(*KEYWORDS), found.schema_form) if found.schema_form else None


def _judge_keywords(answer: ProbeAnswer, found: Findings) -> Facts:
    if answer.is_refusal:
        found.notes.add("rejects-keywords")
        return {}
    return {"rejected_keywords": ()} if answer.is_good else {}


def _keyword(keyword: str) -> Probe:
    """Return the question whether a schema with this keyword is rejected: a grammar is built before
    any token.
    """

    def request(found: Findings) -> Body | None:
        if "rejects-keywords" not in found.notes:
            return None
        return with_schema(keyword_schema(keyword), found.schema_form)

    def judge(answer: ProbeAnswer, found: Findings) -> Facts:
        if not (answer.is_refusal or answer.is_good):
            return {}
        before = found.facts.get("rejected_keywords", ())
        return {
            "rejected_keywords": (*before, *TWINS.get(keyword, (keyword,)))
            if answer.is_refusal
            else before
        }

    return Probe(f"keyword-{keyword}", 1, request, judge)


SCHEMA_PROBES: Sequence[Probe] = (
    Probe("json-object", 256, _probe_json_object, _judge_json_object),
    _schema("json_schema"),
    _schema("json_object_schema"),
    Probe("keywords", 1, _probe_keywords, _judge_keywords),
    *map(_keyword, KEYWORDS),
)
"""The questions, in their order."""
