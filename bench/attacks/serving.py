"""The server under attack, with a key for each tenant."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from antiphon.access.api_keys import Mint
from antiphon.ids import new_id
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import KeyLimits
from bench.attacks.resolver import write_resolver
from bench.ports import free_port
from bench.process import running
from bench.server import RunningServer, wait_for_answer

BODIES = 128 * 1024 * 1024
"""Bytes that a process may hold of clients' data, by its settings."""

SETTINGS = f"""
webhook_private_addresses = true
outgoing_networks = ["127.0.0.0/8"]
web_search = "http://127.0.0.1:1"
connect_timeout = 30
max_bodies = {BODIES}
"""

CODE = 'code_sandbox = "bubblewrap"\n'
"""The settings of a server that runs code, too."""


async def issue(store_url: str) -> list[tuple[str, str]]:
    """Make a key for each tenant, A and B; return the keys with their ids."""
    store = await open_store(store_url)
    mint = await Mint.of(store)
    keys = []
    for name in ("a", "b"):
        key, stored_key = mint.issue(
            new_id("key"), name, "bench", KeyLimits(), int(time.time()), None
        )
        await store.write(api_keys.put, stored_key)
        keys.append((key, stored_key.id))
    await store.close()
    return keys


@contextmanager
def serving(
    backend: int, folder: Path, store: str, *, workers: int = 1, settings: str = ""
) -> Iterator[RunningServer]:
    """Run a server before the backend at this port, with more settings than every server under
    attack has.
    """
    (folder / "attacks.toml").write_text(SETTINGS + settings)
    port = free_port()
    command = [sys.executable, "-m", "antiphon", "serve", "--port", str(port), "--store", store]
    command += [
        "--backend",
        f"http://127.0.0.1:{backend}/v1",
        "--config",
        str(folder / "attacks.toml"),
    ]
    command += ["--workers", str(workers)]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")
    }
    environment["PYTHONPATH"] = write_resolver(folder)
    with running(command, environment, folder, log=folder / "attacks.log") as program:
        wait_for_answer(port, "/healthz", program)
        yield RunningServer(port, program.pid)
