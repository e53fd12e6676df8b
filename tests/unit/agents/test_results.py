"""What steps receive and return is JSON, in the journal and in the handler."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from antiphon.agents.results import decoded, difference, digest_of, encoded, type_of


class Order(msgspec.Struct):
    id: str
    total: float


@dataclass
class Line:
    name: str


class Model:
    """Has the two methods of a pydantic model that matter here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"name": self.name, "mode": mode}

    @classmethod
    def model_validate_json(cls, body: bytes) -> "Model":
        return cls(msgspec.json.decode(body)["name"])


@pytest.mark.parametrize(
    ("value", "into"),
    [
        (None, Any),
        ("text", str),
        ([1, 2.5, {"a": [True]}], Any),
        (Order("o", 2.0), Order),
        (Line("l"), Line),
        ([Order("o", 2.0)], list[Order]),
    ],
)
def test_a_value_is_read_as_the_type_of_the_annotation(value: Any, into: Any) -> None:
    assert decoded(encoded(value, "it"), into) == value


def test_a_model_of_pydantic_is_stored_as_its_json() -> None:
    assert decoded(encoded(Model("m"), "it"), Model).name == "m"


def test_a_value_that_its_annotation_does_not_describe_is_read_as_it_is() -> None:
    assert decoded(b'"text"', int) == "text"


def test_a_tuple_becomes_a_list_at_once() -> None:
    assert decoded(encoded((1, 2), "it")) == [1, 2]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (object(), "the result"),
        ({"a": [1, object()]}, r"the result\['a'\]\[1\]"),
        ([float, 1], r"the result\[0\]"),
    ],
)
def test_a_value_that_json_cannot_represent_is_named(value: Any, place: str) -> None:
    with pytest.raises(TypeError, match=f"^{place} cannot be stored as JSON"):
        encoded(value, "the result")


def test_the_annotation_of_a_function_is_read_and_an_unknown_name_is_no_error() -> None:
    def known() -> Order:
        return Order("", 0)

    def unknown() -> "Missing":  # type: ignore[name-defined]  # noqa: F821
        return None

    assert (type_of(known), type_of(unknown), type_of(len)) == (Order, Any, Any)


def test_a_digest_depends_on_values_alone_and_names_the_field_that_differs() -> None:
    before = digest_of({"model": "m", "input": {"a": 1, "b": 2}})

    assert digest_of({"model": "m", "input": {"b": 2, "a": 1}}) == before
    assert difference(before, digest_of({"model": "n", "input": {"a": 1, "b": 2}})) == "model"
    assert difference(before, digest_of({"model": "m"})) == "input"
