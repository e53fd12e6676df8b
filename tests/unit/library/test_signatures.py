"""What `help()` and editors show of a method with a typed dictionary of parameters."""

import inspect
from typing import Required, Unpack

from antiphon.library.parameters import CallOptions
from antiphon.library.signatures import spelled_out


class Size(CallOptions, total=False):
    width: Required[int]
    height: int | None


@spelled_out
def draw(name: str, **parameters: Unpack[Size]) -> dict[str, object]:
    return {"name": name, **parameters}


def test_each_parameter_is_named_and_the_options_come_last() -> None:
    assert [*inspect.signature(draw).parameters] == [
        "name",
        "width",
        "height",
        "extra_headers",
        "timeout",
    ]


def test_a_required_parameter_has_no_default_and_an_optional_one_shows_that_it_can_be_absent() -> (
    None
):
    displayed = str(inspect.signature(draw))
    assert "width: int, height: int | None = ..." in displayed
    assert displayed.endswith("-> dict[str, object]")


def test_the_method_takes_them_as_before() -> None:
    assert draw("box", width=2) == {"name": "box", "width": 2}
