"""The page of requirements is generated from the data.

`python -m tests.unit.reference.test_requirements_page --update` writes it.
"""

import sys
from collections.abc import Iterator

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.requirement import SECTIONS, SOURCES, Requirement
from tests.support.pages import REFERENCE

PAGE = REFERENCE / "requirements.md"

INTRODUCTION = """\
<!-- Generated: python -m tests.unit.reference.test_requirements_page --update -->

# Requirements

[`antiphon verify`](../guides/check-conformance.md) judges a server by {count} requirements; {musts} of
them are a `must` of the protocol.

| Level | What it means |
|---|---|
| `must` | Clients break without it. |
| `should` | OpenAI does so, and some clients rely on it. |
| `may` | Optional. It is reported, but never makes a server non-conformant. |

A requirement on the *protocol* holds whatever the model answers. A *capability* depends on the model: it is judged
separately and never makes a server non-conformant.

| Source | What it is |
|---|---|
{sources}

The number after `spec` is a section of the specification: {sections}. The thread is named after `issue`.
"""  # noqa: E501 - the lines of a text

APIS = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "messages": "Messages",
    "transport": "Transport",
}


def page() -> str:
    musts = [one for one in REQUIREMENTS.values() if one.level == "must" and one.kind == "protocol"]
    introduction = INTRODUCTION.format(
        count=len(REQUIREMENTS),
        musts=len(musts),
        sources="\n".join(f"| `{name}` | {words} |" for name, words in SOURCES.items()),
        sections="; ".join(f"{number} {name}" for number, name in SECTIONS.items()),
    )
    return introduction + "".join(areas())


def areas() -> Iterator[str]:
    """Each API's heading, then each of its areas as a table."""
    api = area = ""
    for one in REQUIREMENTS.values():
        if not one.id.startswith(f"{api}:"):
            api = one.id.partition(":")[0]
            yield f"\n## {APIS[api]}\n"
        if one.area != area:
            area = one.area
            yield (
                f"\n### `{area}`\n\n| Requirement | Level | Sentence | Source "
                "|\n|---|---|---|---|\n"
            )
        yield row(one)


def row(one: Requirement) -> str:
    level = f"{one.level}, capability" if one.kind == "capability" else one.level
    return f"| `{one.id}` | {level} | {one.sentence.replace('|', '&#124;')} | {one.source} |\n"


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), (
        "write it again: python -m tests.unit.reference.test_requirements_page --update"
    )


if __name__ == "__main__" and "--update" in sys.argv:
    PAGE.write_text(page())
