"""Citations: Chat's annotations in the form of the Responses API (specification section 5, Annotation)."""

from typing import Any


def read_annotation(value: Any) -> dict[str, Any]:
    """Return the annotation; empty for what is none. Chat nests a `url_citation`'s fields, Responses does not."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return {}
    inner = value.get(value["type"])
    fields = inner if isinstance(inner, dict) else value
    if value["type"] != "url_citation":
        return {**fields, "type": value["type"]}
    return url_citation(fields.get("url"), fields.get("title"), fields.get("start_index"), fields.get("end_index"))


def read_citations(values: list[Any]) -> list[dict[str, Any]]:
    """Return annotations for Perplexity's list of source URLs, which names no place in the text."""
    return [url_citation(value, value, 0, 0) for value in values if isinstance(value, str)]


def url_citation(url: Any, title: Any, start: Any, end: Any) -> dict[str, Any]:
    """Return a `url_citation`; indexes count characters of the text, 0 where the backend gives none."""
    return {
        "type": "url_citation",
        "url": url if isinstance(url, str) else "",
        "title": title if isinstance(title, str) else "",
        "start_index": start if isinstance(start, int) else 0,
        "end_index": end if isinstance(end, int) else 0,
    }
