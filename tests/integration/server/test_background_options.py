"""`background_options` as clients see them."""

from typing import Any

import pytest

from tests.support.server import RunningServer
from tests.support.waiting import eventually

OPEN = ("queued", "in_progress")


async def created(server: RunningServer, **options: Any) -> dict[str, Any]:
    body = {"model": "m", "input": "Hi", "background": True, "background_options": options}
    status, found = await server.post("/responses", json=body)
    assert status == 200, found
    return found


@pytest.mark.parametrize("window", ["2h", "8h"])
async def test_a_response_with_a_window_completes_on_an_idle_server_and_reports_its_window(
    stateful: RunningServer, window: str
) -> None:
    options = {"completion_window": window, "continuation_id": "any \0 text"}
    queued = await created(stateful, **options)
    assert (queued["status"], queued["background_options"]) == ("queued", options)

    async def now() -> dict[str, Any]:
        return (await stateful.get(f"/responses/{queued['id']}"))[1]

    ended = await eventually(now, lambda response: response["status"] not in OPEN)
    listed: Any = (await stateful.get("/responses"))[1]
    assert (ended["status"], ended["background_options"]) == ("completed", options)
    assert [one["completion_window"] for one in listed["data"]] == [window]


async def test_options_without_a_window_are_displayed_with_the_default(
    stateful: RunningServer,
) -> None:
    assert (await created(stateful, continuation_id="a"))["background_options"] == {
        "completion_window": "soonest",
        "continuation_id": "a",
    }
    _, plain = await stateful.post("/responses", json={"model": "m", "input": "Hi"})
    assert "background_options" not in plain
