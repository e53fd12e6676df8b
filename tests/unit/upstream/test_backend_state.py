import pytest

from antiphon.translation.dialects.table import DIALECTS
from antiphon.upstream.backend_state import BackendOptions, BackendState, is_listed
from tests.support.engine import listed


def served(share: BackendOptions, *models: str) -> BackendState:
    one = BackendState(listed("a"), DIALECTS["generic"], share)
    one.models = [{"id": model} for model in models]
    return one


def offered(one: BackendState) -> list[str]:
    return [model["id"] for model in one.offers()]


def test_a_backend_serves_what_it_lists() -> None:
    one = served(BackendOptions(), "x", "llama3:latest")

    assert [one.called(name) for name in ("x", "llama3", "y")] == ["x", "llama3", None]
    assert offered(one) == ["x", "llama3:latest"]


def test_an_alias_is_the_clients_name_for_a_model() -> None:
    one = served(BackendOptions(aliases={"big": "x-70b"}), "x-70b")

    assert [one.called("big"), one.called("x-70b")] == ["x-70b", "x-70b"]
    assert offered(one) == ["x-70b", "big"]


def test_named_models_are_all_that_it_serves_whether_it_lists_them_or_not() -> None:
    one = served(BackendOptions(frozenset({"x", "hidden"})), "x", "y")

    assert [one.called(name) for name in ("x", "hidden", "y")] == ["x", "hidden", None]
    assert offered(one) == ["x", "hidden"]


def test_a_star_is_no_name_of_a_model() -> None:
    one = served(BackendOptions(frozenset({"*"})), "x")

    assert [one.called(name) for name in ("x", "*", "y")] == ["x", None, None]
    assert offered(one) == ["x"]


def test_clients_are_told_its_label_where_it_has_one() -> None:
    assert [served(BackendOptions()).label, served(BackendOptions(label="backend-1")).label] == ["a", "backend-1"]


@pytest.mark.parametrize(
    ("listed", "is_it"),
    [(["llama3"], True), (["llama3:latest"], True), (["x", "llama3"], True), (["llama3:8b"], False), ([], False)],
)
def test_a_model_is_listed_by_its_name_or_as_the_latest_of_it(listed: list[str], is_it: bool) -> None:
    assert is_listed("llama3", listed) is is_it
