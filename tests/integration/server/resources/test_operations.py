"""`/status`: how the backends are doing, shown to this machine alone."""

import pytest

from tests.support.pair import KEY, error, pair, saying
from tests.support.server import Served


async def test_the_status_shows_each_backend_with_its_models_and_its_last_error() -> None:
    async with pair(error(500, f"http://10.0.0.7 {KEY}"), saying("Hello")) as two:
        for _ in range(8):
            await two.ask()
        async with two.served.http.get(two.served.url.removesuffix("/v1") + "/status") as response:
            seen, status = await response.text(), await response.json()

    a, b = status["backends"]
    assert (a["name"], a["health"], a["failed"], a["ejections"]) == ("a", "out", 5, 1)
    assert (b["name"], b["health"], b["asked"], b["failed"], b["last_error"]) == ("b", "up", 8, 0, "")
    assert (a["models"], a["last_error"]) == (["m"], "The model backend failed with status 500.")
    assert (status["workers"], status["responses_in_flight"]) == (1, 0)
    for secret in ("10.0.0.7", "127.0.0.1", KEY):
        assert secret not in seen


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
async def test_nobody_elsewhere_sees_it(served: Served, header: str) -> None:
    url = served.url.removesuffix("/v1") + "/status"
    async with served.http.get(url, headers={header: "x"}) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (403, "status_not_allowed")
