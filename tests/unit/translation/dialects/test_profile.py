"""What is known of a model changes the dialect in which it is called, fact by fact."""

from typing import Any, get_type_hints

import pytest

from antiphon.config import ModelConfig
from antiphon.translation.dialects.profile import FACTS, NOTHING_KNOWN, ModelProfile
from antiphon.translation.dialects.table import DIALECTS


def test_a_profile_that_knows_nothing_leaves_the_dialect_as_it_is() -> None:
    assert DIALECTS["ollama"].profiled(NOTHING_KNOWN) is DIALECTS["ollama"]


@pytest.mark.parametrize(
    ("facts", "column", "value"),
    [
        ({"tools": "prompt"}, "tools", "prompt"),
        ({"tools": "native"}, "tools", "native"),
        ({"text_calls": ("hermes",)}, "text_calls", True),
        ({"text_calls": ()}, "text_calls", True),
        ({"thinking_control": "chat_template_kwargs"}, "effort", "chat_template_kwargs"),
        ({"thinking_control": ""}, "effort", ""),
        ({"json_formats": ("json_object",)}, "json_formats", {"json_object"}),
        ({"json_held": False}, "patterns", False),
        ({"json_held": True}, "patterns", True),
        ({"rejected_keywords": ("pattern",)}, "patterns", False),
        ({"rejected_keywords": ("not",)}, "patterns", True),
        (
            {"rejected_keywords": ("pattern", "not")},
            "unfit",
            {"classes", "anchors", "pattern", "logic"},
        ),
        ({"system_role": False}, "system_role", "user"),
        ({"system_role": False}, "alternating", True),
        ({"system_role": True}, "system_role", "system"),
        ({"late_system": True}, "system_messages", "late"),
        ({"late_system": False}, "system_messages", "first"),
        ({"system_role": False, "late_system": True}, "system_messages", "first"),
    ],
)
def test_a_fact_changes_the_dialect(facts: dict[str, Any], column: str, value: object) -> None:
    assert getattr(DIALECTS["llamacpp"].profiled(ModelProfile(**facts)), column) == value


def test_a_messages_api_has_one_form_of_the_effort() -> None:
    """Also for a model that a probe found to think always."""
    dialect = DIALECTS["messages"]

    assert dialect.profiled(ModelProfile(thinking_control="")).effort == dialect.effort


def test_what_is_configured_replaces_what_was_measured_and_the_rest_stays() -> None:
    measured = ModelProfile(context_window=4096, vision=True)
    configured = ModelProfile(context_window=8192, json_held=False)

    assert measured.under(configured) == ModelProfile(
        context_window=8192, vision=True, json_held=False
    )
    assert measured.under(None) is measured


def test_false_is_a_fact_and_none_is_not() -> None:
    assert ModelProfile(vision=False, tools=None).known() == {"vision": False}


def test_every_fact_can_be_configured_with_the_values_that_a_profile_may_have() -> None:
    configurable = get_type_hints(ModelConfig)
    facts = get_type_hints(ModelProfile)

    assert {name: configurable.get(name) for name in FACTS} == facts
