"""The area `emulation`: judged behind Antiphon, and not offered by a server without the weak
models.
"""

from pathlib import Path

import pytest

from antiphon.upstream.backend import Backend
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.demo.weak import WeakDemoBackend
from tests.support.cli import antiphon
from tests.support.server import serve

ONLY = ("--only", "responses:emulation", "--model", "demo")


@pytest.mark.parametrize(("dialect", "stored"), [("generic", "4 of 4"), ("together", "2 of 4")])
async def test_antiphon_supplies_what_a_model_lacks_unless_it_is_a_services(
    dialect: str, stored: str, tmp_path: Path
) -> None:
    backend = WeakDemoBackend()
    async with serve(backend, dialects={backend.name: dialect}) as server:
        done = await antiphon(tmp_path, "verify", "--base-url", server.url, *ONLY)

    assert stored in " ".join(done.out.partition("Capabilities")[2].split())


async def test_a_server_without_the_weak_models_does_not_offer_it(tmp_path: Path) -> None:
    backend: Backend = DemoBackend()
    async with serve(backend) as server:
        done = await antiphon(tmp_path, "verify", "--base-url", server.url, *ONLY)

    assert "of 4" not in done.out
    assert "No requirement could be judged" in done.out
