"""How a measurement is stored, and shown on one line."""

from typing import Any

import pytest

from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.probing.measurement import Measurement, decode, least, summary, verdict


def test_what_is_stored_is_read_again() -> None:
    profile = ModelProfile(
        tools="native", text_calls=(), vision=False, rejected_keywords=("pattern",)
    )
    one = Measurement(
        profile=profile, digest="d", evidence={"vision": "vision"}, requests=3, tokens=9
    )

    assert decode(one.encode()) == one


def test_what_a_newer_version_stored_is_read_without_the_facts_that_are_new() -> None:
    assert decode(b'{"profile": {"vision": true, "smell": true}, "colour": 1}') == Measurement(
        profile=ModelProfile(vision=True)
    )


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"profile": {"vision": "much"}}', b"\xff"])
def test_anything_else_is_no_measurement(body: bytes) -> None:
    assert decode(body) is None


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, ""),
        ({"tools": "native", "text_calls": ()}, "native tools"),
        ({"tools": "prompt"}, "tools by prompt"),
        ({"tools": "native", "text_calls": ("hermes",)}, "tools as text (hermes)"),
        ({"json_formats": ()}, "no JSON"),
        ({"json_formats": ("json_object",), "json_held": False}, "JSON"),
        ({"json_formats": ("json_object", "json_schema"), "json_held": True}, "schemas"),
        ({"json_formats": ("json_object", "json_object_schema")}, "schemas"),
        ({"json_formats": ("json_schema",), "json_held": False}, "schemas (not held)"),
        ({"rejected_keywords": ("pattern", "not")}, "rejects pattern, not"),
        ({"context_window": 131072, "vision": True}, "131,072 tokens, vision"),
        ({"thinking": "tags", "vision": False}, "thinks (tags), no vision"),
        ({"thinking": "none", "system_role": False}, "no system role"),
        ({"weaknesses": ("calls",)}, "too weak for coding agents"),
        ({"weaknesses": ()}, ""),
    ],
)
def test_the_line_has_what_a_reader_needs(facts: dict[str, Any], line: str) -> None:
    assert summary(ModelProfile(**facts)) == line


FIT = "It follows instructions and calls tools, as coding agents need."
LAZY = "Too weak for coding agents: it calls no tool unless it is forced to."


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({}, ""),
        ({"context_window": 4096}, ""),
        ({"weaknesses": ()}, FIT),
        ({"weaknesses": (), "context_window": 16_384}, FIT),
        ({"weaknesses": ("calls",)}, LAZY),
        (
            {"weaknesses": (), "context_window": 8192},
            "Too weak for coding agents: its context window of 8,192 tokens is too small "
            "for their requests.",
        ),
        (
            {"weaknesses": ("instructions", "calls"), "context_window": 4096},
            "Too weak for coding agents: it does not follow instructions, "
            "it calls no tool unless it is forced to and its context window of 4,096 tokens is too "
            "small for their requests.",
        ),
    ],
)
def test_a_verdict_is_one_sentence_about_what_was_measured(
    facts: dict[str, Any], sentence: str
) -> None:
    assert verdict(ModelProfile(**facts)) == sentence


def test_a_model_with_several_backends_is_as_weak_as_at_the_worst() -> None:
    fit = ModelProfile(weaknesses=())
    lazy = ModelProfile(weaknesses=("calls",))

    assert [least(each) for each in ([fit, lazy], [fit], [], [ModelProfile()])] == [
        LAZY,
        FIT,
        "",
        "",
    ]
