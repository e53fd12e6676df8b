"""The scripted fake of a Responses server, where it is at hand. It belongs to the harness and is
never copied here.
"""

import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.support.recordings import FOLDER
from tests.support.web_app import serving_app

PATH = FOLDER.parent / "clients" / "harness" / "server" / "fake_responses.py"

NOW = 1_700_000_000.0
"""What the fake's clock says."""


def load() -> ModuleType:
    """Load the fake."""
    spec = importlib.util.spec_from_file_location("fake_responses", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # It stamps each snapshot of a response anew: one second must not end between two of them.
    module.__dict__["time"] = SimpleNamespace(time=lambda: NOW)
    return module


@asynccontextmanager
async def faking(
    folder: Path, turns: list[dict[str, Any]], mutations: dict[str, Any]
) -> AsyncIterator[str]:
    """Serve the fake with these turns and mutations; give its base URL."""
    fake = load()
    fake.CAP = str(folder)
    fake.reset({"turns": turns, "mutations": mutations})
    async with serving_app(fake.app()) as origin:
        yield f"{origin}/v1"
