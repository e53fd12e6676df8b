"""The requirements as data: each can be cited, filtered and read by itself."""

import re

import pytest

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.requirement import (
    LEVELS,
    SECTIONS,
    SOURCES,
    Requirement,
    capability,
    explained,
    must,
)
from tests.support.cases import each

FORM = re.compile(r"(chat|messages|responses|transport):[a-z]+(-[a-z]+)*:[a-z0-9]+(-[a-z0-9]+)*")


@each("requirement", REQUIREMENTS.values(), ids=lambda requirement: requirement.id)
def test_a_requirement_states_in_one_sentence_its_rule_and_its_source(
    requirement: Requirement,
) -> None:
    assert FORM.fullmatch(requirement.id)
    assert requirement.level in LEVELS
    assert requirement.source.partition(" ")[0] in SOURCES
    assert requirement.sentence[0] in f"`{requirement.sentence[0].upper()}"
    assert requirement.sentence.endswith(".")
    assert len(requirement.sentence) <= 240
    assert "\n" not in requirement.sentence


def test_there_are_enough_to_judge_by() -> None:
    assert len(REQUIREMENTS) >= 250
    assert {requirement.kind for requirement in REQUIREMENTS.values()} == {"protocol", "capability"}
    assert {requirement.level for requirement in REQUIREMENTS.values()} == set(LEVELS)


@pytest.mark.parametrize("api", ["chat", "responses", "messages", "transport"])
def test_no_two_requirements_of_an_api_are_equal(api: str) -> None:
    sentences = [one.sentence for one in REQUIREMENTS.values() if one.id.startswith(f"{api}:")]

    assert [sentence for sentence in set(sentences) if sentences.count(sentence) > 1] == []


def test_an_area_is_the_id_without_its_name() -> None:
    assert must("responses:stream:item-done-once", "spec 7", "It is.").area == "responses:stream"
    assert capability(must("a:b:c", "spec 7", "It is.")).kind == "capability"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("spec 13", "spec 13 (errors)"),
        ("spec 4, 17 rule 6", "spec 4, 17 rule 6 (stream events)"),
        ("open-responses 3", "open-responses 3"),
        ("issue ollama#15954", "issue ollama#15954"),
        ("sse", "sse"),
    ],
)
def test_a_source_is_explained(source: str, words: str) -> None:
    assert explained(source) == words


def test_every_section_that_is_named_is_known() -> None:
    numbers = {
        int(found[1])
        for one in REQUIREMENTS.values()
        if (found := re.match(r"spec (\d+)", one.source))
    }

    assert numbers <= SECTIONS.keys()
