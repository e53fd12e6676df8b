"""Every public name has an entry in the reference of the Python API."""

import re

import pytest

import antiphon
import antiphon.agents
import antiphon.agents.langgraph
import antiphon.agents.openai_agents
import antiphon.agents.pydantic_ai
import antiphon.testing
import antiphon.translation
import antiphon.types
from tests.support.site import ROOT

PAGES = [
    ROOT / "docs/reference/python-api.md",
    *sorted((ROOT / "docs/reference/python-api").glob("*.md")),
]
DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|py:data):: (?P<name>[\w.]+)$", re.MULTILINE)
STRUCTS = re.compile(r"^\.\. structs:: (?P<module>[\w.]+)\n\n(?P<names>(?:   .+\n)+)", re.MULTILINE)
NAMED_IN_PROSE = {"antiphon.__version__", "antiphon.types"}


def entries() -> list[str]:
    """Return the names that the pages document."""
    text = "".join(page.read_text() for page in PAGES)
    listed = [
        f"{found['module']}.{name}"
        for found in STRUCTS.finditer(text)
        for name in found["names"].split()
    ]
    return [*(found["name"] for found in DIRECTIVE.finditer(text)), *listed]


MODULES = [
    antiphon,
    antiphon.types,
    antiphon.testing,
    antiphon.translation,
    antiphon.agents,
    antiphon.agents.langgraph,
    antiphon.agents.openai_agents,
    antiphon.agents.pydantic_ai,
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_has_an_entry(module: object) -> None:
    documented = set(entries())
    names = {f"{module.__name__}.{name}" for name in module.__all__}  # type: ignore[attr-defined]

    assert names - documented - NAMED_IN_PROSE == set()


def test_no_name_has_two_entries() -> None:
    found = entries()
    assert sorted(name for name in set(found) if found.count(name) > 1) == []


def test_names_in_prose_are_mentioned() -> None:
    text = (ROOT / "docs/reference/python-api.md").read_text()
    assert all(f"`{name}`" in text for name in NAMED_IN_PROSE)
