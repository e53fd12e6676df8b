"""A server without vector stores loads nothing of them."""

import json
import subprocess
import sys

PROGRAM = """
import asyncio, json, sys
from antiphon.build import build
from antiphon.config import Settings
from antiphon.server.application import create_app
from antiphon.storage.upkeep import purge

async def main():
    house = await build(Settings(store="sqlite://", check_interval=0), {})
    create_app(house.gateway, house.endpoints)
    house.start()
    await purge(house.parts.store)
    await asyncio.sleep(0)
    await house.close()

asyncio.run(main())
print(json.dumps([name for name in sys.modules if name.startswith("antiphon.")]))
"""

LATE = (
    "antiphon.search.",
    "antiphon.documents.",
    "antiphon.jobs.ingestion",
    "antiphon.storage.operations.chunks",
)


def test_nothing_of_vector_stores_is_loaded_before_the_first(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert [
        name
        for name in loaded
        if f"{name}.".startswith(LATE) or name.endswith(".vector_stores.resources")
    ] == []
