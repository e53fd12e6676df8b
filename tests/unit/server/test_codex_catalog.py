"""Codex's entry of a model."""

import pytest

from antiphon.server.codex_catalog import catalog

REQUIRED = {
    *(
        "slug",
        "display_name",
        "supported_reasoning_levels",
        "shell_type",
        "visibility",
        "supported_in_api",
        "priority",
    ),
    *(
        "support_verbosity",
        "truncation_policy",
        "experimental_supported_tools",
        "base_instructions",
    ),
}
"""Without any of these Codex 0.169 rejects the whole catalog."""


def test_an_entry_has_all_that_codex_requires() -> None:
    (entry,) = catalog([("qwen3", 40_960, None)])
    assert entry.keys() >= REQUIRED
    assert (entry["slug"], entry["context_window"]) == ("qwen3", 40_960)


def test_an_unknown_window_is_left_out() -> None:
    (entry,) = catalog([("qwen3", None, None)])
    assert "context_window" not in entry


@pytest.mark.parametrize(
    ("window", "stored_size"), [(8_192, 1_024), (40_960, 5_120), (400_000, 10_000), (None, 10_000)]
)
def test_the_output_of_a_tool_fits_into_the_window(window: int | None, stored_size: int) -> None:
    (entry,) = catalog([("qwen3", window, None)])
    assert entry["truncation_policy"] == {"mode": "tokens", "limit": stored_size}


@pytest.mark.parametrize(
    ("vision", "kinds"), [(True, ["text", "image"]), (None, ["text", "image"]), (False, ["text"])]
)
def test_a_model_that_sees_no_images_is_sent_none(vision: bool | None, kinds: list[str]) -> None:
    (entry,) = catalog([("qwen3", None, vision)])
    assert entry["input_modalities"] == kinds


def test_the_verdict_about_a_model_is_its_description() -> None:
    weak, unknown = catalog([("a", None, None), ("b", None, None)], {"a": "Too weak.", "b": ""})
    assert (weak["description"], unknown["description"]) == ("Too weak.", "Served by Antiphon.")


def test_models_stay_in_their_order() -> None:
    assert [
        (entry["slug"], entry["priority"])
        for entry in catalog([("b", None, None), ("a", None, None)])
    ] == [
        ("b", 0),
        ("a", 1),
    ]
