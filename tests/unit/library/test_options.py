"""The options of a call: headers that mean something, and a positive number of seconds."""

import asyncio
from typing import Any

import pytest

from antiphon.errors import APITimeoutError
from antiphon.library.options import Options, limited
from tests.support.cases import each


def test_names_of_headers_are_in_lower_case() -> None:
    assert Options.of({"extra_headers": {"Idempotency-Key": "k"}, "model": "m"}) == Options(
        {"idempotency-key": "k"}
    )


@each("parameters", [{}, {"extra_headers": None, "timeout": None}, {"model": "m"}])
def test_a_call_without_options_has_no_limit(parameters: dict[str, Any]) -> None:
    assert Options.of(parameters) == Options({}, None)


@each(
    ("name", "value", "error"),
    [
        ("timeout", 0, ValueError),
        ("timeout", -1, ValueError),
        ("timeout", float("nan"), ValueError),
        ("timeout", "3", TypeError),
        ("timeout", True, TypeError),
        ("extra_headers", ["a"], TypeError),
        ("extra_headers", {"a": 1}, TypeError),
        ("extra_headers", {1: "a"}, TypeError),
        ("extra_headers", {"a": "b\r\nc: d"}, ValueError),
        ("extra_headers", {"ä": "b"}, ValueError),
        ("extra_headers", {"Authorization": "Bearer k"}, ValueError),
        ("extra_headers", {"Content-Length": "1"}, ValueError),
    ],
)
def test_an_option_that_could_have_no_effect_is_rejected(
    name: str, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=name):
        Options.of({name: value})


async def test_work_ends_at_its_limit() -> None:
    with pytest.raises(APITimeoutError) as raised:
        async with limited(1e-9):
            await asyncio.Event().wait()
    assert (raised.value.status_code, raised.value.code) == (504, "request_timeout")
    assert isinstance(raised.value, TimeoutError)


async def test_a_timeout_of_the_work_itself_is_its_own() -> None:
    with pytest.raises(TimeoutError) as raised:
        async with limited(30):
            raise TimeoutError
    assert not isinstance(raised.value, APITimeoutError)
