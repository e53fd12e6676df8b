"""`background_options`: which windows a request can have."""

import json
from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.requests import background_window
from antiphon.protocol.validation.validate import decode_request

GOOD = {"model": "m", "input": "Hi", "background": True}
WINDOW = "background_options.completion_window"


def decoded(options: Any, **changes: Any) -> Any:
    return decode_request(json.dumps(GOOD | {"background_options": options} | changes).encode())


@pytest.mark.parametrize("window", ["2h", "8h"])
@pytest.mark.parametrize(
    "changes",
    [
        {"background": False},
        {"background": None},
        {"stream": True},
        {"service_tier": "flex"},
        {"service_tier": "priority"},
    ],
)
def test_a_window_of_hours_needs_background_the_standard_tier_and_no_stream(
    window: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(ClientError) as caught:
        decoded({"completion_window": window}, **changes)
    assert (caught.value.status, caught.value.param, caught.value.code) == (
        400,
        WINDOW,
        "invalid_value",
    )
    assert window in caught.value.message


@pytest.mark.parametrize("tier", [None, "auto", "default"])
def test_a_window_of_hours_is_taken_in_the_background_at_the_standard_tier(
    tier: str | None,
) -> None:
    assert (
        background_window(decoded({"completion_window": "8h"}, service_tier=tier, stream=False))
        == "8h"
    )


@pytest.mark.parametrize(
    "options", [None, {}, {"completion_window": None}, {"completion_window": "soonest"}]
)
def test_without_a_window_of_hours_anything_can_be_combined(options: Any) -> None:
    request = decoded(options, background=False, stream=True, service_tier="flex")
    assert background_window(request) == "soonest"


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"completion_window": "24h"}, WINDOW),
        ({"completion_window": 2}, WINDOW),
        ({"continuation_id": 7}, "background_options.continuation_id"),
        ({"continuation_id": "x" * 513}, "background_options.continuation_id"),
        ({"window": "2h"}, "background_options.window"),
        ("2h", "background_options"),
    ],
)
def test_options_that_the_api_does_not_have_are_rejected_by_name(options: Any, param: str) -> None:
    with pytest.raises(ClientError) as caught:
        decoded(options)
    assert caught.value.param == param
