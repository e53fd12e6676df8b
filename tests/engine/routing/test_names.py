import pytest

from antiphon.engine.routing.names import is_listed


@pytest.mark.parametrize(
    ("listed", "is_it"),
    [(["llama3"], True), (["llama3:latest"], True), (["x", "llama3"], True), (["llama3:8b"], False), ([], False)],
)
def test_a_model_is_listed_by_its_name_or_as_the_latest_of_it(listed: list[str], is_it: bool) -> None:
    assert is_listed("llama3", listed) is is_it
