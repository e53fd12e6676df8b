from antiphon.engine.routing.served import Served, Share
from antiphon.translation.dialects import DIALECTS
from tests.support.engine import listed


def served(share: Share, *models: str) -> Served:
    one = Served(listed("a"), DIALECTS["generic"], share)
    one.models = [{"id": model} for model in models]
    return one


def offered(one: Served) -> list[str]:
    return [model["id"] for model in one.offers()]


def test_a_backend_serves_what_it_lists() -> None:
    one = served(Share(), "x", "llama3:latest")

    assert [one.called(name) for name in ("x", "llama3", "y")] == ["x", "llama3", None]
    assert offered(one) == ["x", "llama3:latest"]


def test_an_alias_is_the_clients_name_for_a_model() -> None:
    one = served(Share(aliases={"big": "x-70b"}), "x-70b")

    assert [one.called("big"), one.called("x-70b")] == ["x-70b", "x-70b"]
    assert offered(one) == ["x-70b", "big"]


def test_named_models_are_all_that_it_serves_whether_it_lists_them_or_not() -> None:
    one = served(Share(frozenset({"x", "hidden"})), "x", "y")

    assert [one.called(name) for name in ("x", "hidden", "y")] == ["x", "hidden", None]
    assert offered(one) == ["x", "hidden"]


def test_a_star_is_no_name_of_a_model() -> None:
    one = served(Share(frozenset({"*"})), "x")

    assert [one.called(name) for name in ("x", "*", "y")] == ["x", None, None]
    assert offered(one) == ["x"]


def test_clients_are_told_its_label_where_it_has_one() -> None:
    assert [served(Share()).label, served(Share(label="backend-1")).label] == ["a", "backend-1"]
