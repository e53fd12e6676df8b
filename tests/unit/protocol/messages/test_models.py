"""The list of models in the form of the Messages API."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import NotFoundError
from antiphon.protocol.messages.models import ListedModel, model_info, models_page, rfc3339

MODELS = [ListedModel(id=f"m{number}", created=number) for number in range(5)]


def ids(**page: object) -> list[str]:
    return [model["id"] for model in models_page(MODELS, **page)["data"]]  # type: ignore[arg-type]


def test_the_newest_are_first() -> None:
    page = models_page(MODELS)
    assert [model["id"] for model in page["data"]] == ["m4", "m3", "m2", "m1", "m0"]
    assert (page["first_id"], page["last_id"], page["has_more"]) == ("m4", "m0", False)


def test_pages_follow_an_id_or_precede_it() -> None:
    assert ids(limit=2) == ["m4", "m3"]
    assert models_page(MODELS, limit=2)["has_more"]
    assert ids(limit=2, after_id="m3") == ["m2", "m1"]
    assert ids(limit=2, before_id="m1") == ["m3", "m2"]
    assert not models_page(MODELS, limit=9, before_id="m1")["has_more"]
    assert ids(limit=0) == ["m4"]


def test_an_id_that_no_model_has_is_not_found() -> None:
    with pytest.raises(NotFoundError):
        models_page(MODELS, after_id="other")


def test_no_models_are_an_empty_page() -> None:
    assert models_page([]) == {"data": [], "has_more": False, "first_id": None, "last_id": None}


def test_a_model_has_what_clients_read() -> None:
    info = model_info(ListedModel(id="qwen3", created=0, max_input_tokens=32_768, sees_images=True))
    assert (info["type"], info["id"], info["display_name"]) == ("model", "qwen3", "qwen3")
    assert (info["created_at"], info["lifecycle"]) == ("1970-01-01T00:00:00Z", "active")
    assert (info["max_input_tokens"], info["max_tokens"]) == (32_768, None)
    assert info["capabilities"] == {"image_input": {"supported": True}}


@given(st.integers(0, 253_402_300_799))
def test_times_are_those_of_the_calendar(seconds: int) -> None:
    assert rfc3339(seconds) == datetime.fromtimestamp(seconds, UTC).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    ).rjust(20, "0")
