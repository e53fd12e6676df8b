"""What a run is about."""

import pytest

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.choice import chosen, is_under, under
from antiphon_verify.errors import VerifyError


def test_everything_is_judged_by_default() -> None:
    assert [requirement.id for requirement in chosen()] == list(REQUIREMENTS)


def test_an_api_has_the_transport_beneath_it() -> None:
    apis = {
        api: {requirement.id.partition(":")[0] for requirement in chosen(api)}
        for api in ("chat", "responses", "messages")
    }

    assert apis == {
        "chat": {"chat", "transport"},
        "responses": {"responses", "transport"},
        "messages": {"messages"},
    }


def test_areas_and_requirements_can_be_named() -> None:
    assert [one.id for one in chosen(only=["responses:models:list"])] == ["responses:models:list"]
    assert {one.area for one in chosen(only=["responses:models", "chat:stream"])} == {
        "responses:models",
        "chat:stream",
    }


def test_an_area_contains_exactly_its_own_requirements() -> None:
    assert is_under("responses:input-items:paging", "responses:input-items")
    assert not is_under("responses:input-items:paging", "responses:input")
    assert under([]) == set()


@pytest.mark.parametrize("place", ["respones", "responses:", "responses:models:lst", ""])
def test_an_invalid_place_is_reported(place: str) -> None:
    with pytest.raises(VerifyError, match="antiphon-verify list"):
        chosen(only=[place])


def test_an_invalid_api_is_reported() -> None:
    with pytest.raises(VerifyError, match="chat, responses, messages, all"):
        chosen("embeddings")


def test_an_area_of_the_other_api_is_reported() -> None:
    with pytest.raises(VerifyError, match="The API 'chat' has no requirements in responses:models"):
        chosen("chat", ["responses:models"])
