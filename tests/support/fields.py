"""Which fields OpenAI leaves out when they are empty, and which it sends as null: a table, and what
breaks it.

`python -m tests.support.fields` writes the table anew from the recordings. It is committed, so that
the checks run where no recordings are.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.recordings import FOLDER

PAGE = Path(__file__).with_name("fields.json")

Table = dict[str, dict[str, str]]
"""By kind of object, by field: `always` (never absent, never null), `null` or `absent` when empty,
or `either`.
"""

Found = Iterator[tuple[str, dict[str, Any]]]

PARTS_OF_EVENTS = {"response", "item", "part", "annotation"}

NESTED = {"error", "incomplete_details", "usage", "input_tokens_details", "output_tokens_details"}
"""Objects of a response that are a kind of their own."""

LISTS = {
    "content": "part",
    "summary": "part",
    "annotations": "annotation",
    "logprobs": "logprob",
    "output": "item",
}
"""Fields with lists of objects, by what these are."""


def objects(value: Any, kind: str = "") -> Found:
    """Give each object of the API in an event, a response or an item, with its kind."""
    if not isinstance(value, dict):
        return
    kind = kind or ("response" if value.get("object") == "response" else "event")
    name = f"{kind} {value['type']}" if isinstance(value.get("type"), str) else kind
    yield name, value
    for field, inner in value.items():
        if (kind == "event" and field in PARTS_OF_EVENTS) or (
            kind in {"response", "usage"} and field in NESTED
        ):
            yield from objects(inner, field)
        elif field == "tools" and isinstance(inner, list):
            yield from (
                found
                for tool in inner
                for found in objects(tool, "listed" if kind == "item" else "tool")
            )
        elif field in LISTS and isinstance(inner, list):
            yield from (found for one in inner for found in objects(one, LISTS[field]))


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Give the JSON objects of a recording: its events, or the plain answer."""
    text = path.read_text("utf-8", "replace")
    streamed = path.suffix == ".sse"
    for line in text.splitlines() if streamed else [text]:
        if streamed and (not line.startswith("data:") or "[DONE]" in line):
            continue
        try:
            value = json.loads(line.removeprefix("data:"))
        except ValueError:
            continue
        if isinstance(value, dict) and (streamed or value.get("object") == "response"):
            yield value


def is_of_openai(path: Path) -> bool:
    """Whether OpenAI itself sent this."""
    if path.name.endswith((".request.json", ".splits.json", ".tsv")) or path.name.startswith(
        "vllm"
    ):
        return False
    text = path.read_text("utf-8", "replace")
    is_another = "grok" in text or "xai" in path.name or '"system_fingerprint"' in text
    return not is_another and any(
        f'"model":{blank}"{name}' in text for blank in ("", " ") for name in ("gpt-", "o")
    )


def recorded() -> Table:
    """Make the table from all recordings of OpenAI."""
    seen: Counter[str] = Counter()
    values: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    paths = [*(FOLDER / "responses").glob("openai-*"), *(FOLDER / "hosted").glob("*.*")]
    for path in sorted(filter(is_of_openai, paths)):
        for value in read(path):
            for kind, found in objects(value):
                seen[kind] += 1
                for field, inner in found.items():
                    values[kind][field]["null" if inner is None else "set"] += 1
    return {
        kind: {field: _treatment(seen[kind], values[kind][field]) for field in sorted(values[kind])}
        for kind in sorted(values)
    }


def _treatment(seen: int, counted: Counter[str]) -> str:
    is_absent = seen > counted.total()
    is_null = counted["null"] > 0
    if is_absent and is_null:
        return "either"
    return "absent" if is_absent else "null" if is_null else "always"


TABLE: Table = json.loads(PAGE.read_text()) if PAGE.exists() else {}


def faults(value: Any, kind: str = "") -> set[tuple[str, str, str]]:
    """Return what of an event, a response or an item differs from the table: (kind, field, how)."""
    found = set()
    for name, one in objects(value, kind):
        rules = TABLE.get(name)
        if rules is None:
            found.add((name, "", "unknown"))
            continue
        for field, treatment in rules.items():
            if field not in one and treatment in {"always", "null"}:
                found.add((name, field, "absent"))
            if field in one and one[field] is None and treatment in {"always", "absent"}:
                found.add((name, field, "null"))
        found |= {(name, field, "unknown") for field in one.keys() - rules.keys()}
    return found


if __name__ == "__main__":
    PAGE.write_text(json.dumps(recorded(), indent=1) + "\n")
    sys.stdout.write(f"{PAGE.name}: {len(json.loads(PAGE.read_text()))} kinds of objects\n")
