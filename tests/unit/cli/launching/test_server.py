"""Which model a client begins with."""

import pytest

from antiphon.cli.launching.server import choose, is_scripted
from antiphon.errors import ConfigError


def models(*names: str) -> list[dict[str, str]]:
    return [{"slug": name} for name in names]


@pytest.mark.parametrize(
    ("listed", "wanted", "chosen"),
    [
        (models("a"), None, "a"),
        (models("a"), "a", "a"),
        (models("a", "b"), "b", "b"),
        (models("a", "llama3:latest"), "llama3", "llama3:latest"),
        ([], "a", "a"),
    ],
)
def test_the_only_model_is_chosen_or_the_one_that_is_wanted(
    listed: list[dict[str, str]], wanted: str | None, chosen: str
) -> None:
    assert choose(listed, wanted) == chosen


@pytest.mark.parametrize(
    ("listed", "wanted", "message"),
    [
        (models("a", "b"), None, "The server has several models. Choose one with --model: a, b."),
        (models("a", "b"), "c", "The server does not have the model 'c'. It has: a, b."),
        ([], None, "The server lists no model. Start a backend, or name a model with --model."),
    ],
)
def test_an_error_names_the_models_if_there_is_a_choice(
    listed: list[dict[str, str]], wanted: str | None, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        choose(listed, wanted)
    assert caught.value.message == message


def test_without_a_model_the_error_is_that_of_the_backends() -> None:
    with pytest.raises(ConfigError) as caught:
        choose([], None, [{"error": "Backend 'a' is unreachable."}, {"error": ""}])
    assert caught.value.message == "The server lists no model. Backend 'a' is unreachable."


@pytest.mark.parametrize(
    ("model", "name", "dialect", "expected"),
    [
        ("demo", "demo", "demo", True),
        ("demo", "127.0.0.1:8322", "demo", False),
        ("demo", "demo", "generic", False),
        ("qwen3", "demo", "demo", False),
    ],
)
def test_the_scripted_model_is_that_of_a_server_without_a_backend(
    model: str, name: str, dialect: str, expected: bool
) -> None:
    assert is_scripted(model, [{"name": name, "dialect": dialect}]) is expected


def test_of_many_models_an_error_names_some() -> None:
    with pytest.raises(ConfigError) as caught:
        choose(models(*(f"m{number}" for number in range(300))), None)
    assert caught.value.message.endswith("m18, m19 and 280 more.")
