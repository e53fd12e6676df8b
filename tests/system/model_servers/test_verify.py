"""`antiphon verify` judges Antiphon in front of each model server, as a user would have it done.

What Antiphon makes must hold without exception: the Responses API, and how both are carried. Chat
completions are passed on byte for byte, so there it may break what the model server breaks by
itself, and nothing else.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Done, antiphon
from tests.system.model_servers.servers import LLAMA, TRANSFORMERS, ModelServer

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATIENCE = 400.0
"""Seconds for a run, which takes ten where nobody else needs the machine."""

UNHELD = {
    f"responses:formats:{name}" for name in ("loose", "nested", "object", "streamed", "strict")
} | {"responses:echo:text-format"}
"""What needs a model that does as it is told where the server cannot hold it to a schema: this one
speaks noise.
"""

BROKEN = {LLAMA.name: set[str](), TRANSFORMERS.name: UNHELD}


async def verify(
    home: Path, url: str, model: str, *flags: str
) -> tuple[Done, list[dict[str, Any]]]:
    """Run the command; how it ended, and the results of its report."""
    report = home / "report.json"
    requested = ("verify", "--base-url", url, "--model", model, "--json", str(report), *flags)
    done = await antiphon(home, *requested, patience=PATIENCE)
    return done, json.loads(report.read_bytes())["results"]


def broken(results: list[dict[str, Any]]) -> dict[str, str]:
    """The requirements of the protocol that are broken, each with what came."""
    return {
        one["id"]: one["came"]
        for one in results
        if one["outcome"] == "failed" and one["kind"] == "protocol"
    }


async def test_no_requirement_of_the_responses_api_is_broken(
    front: str, server: ModelServer, tmp_path: Path
) -> None:
    done, results = await verify(tmp_path, front, server.kind.model, "--api", "responses")
    found = {
        one: came for one, came in broken(results).items() if one not in BROKEN[server.kind.name]
    }

    assert found == {}
    assert len([one for one in results if one["outcome"] == "passed"]) > 350
    assert done.code == (1 if BROKEN[server.kind.name] else 0), done.out


async def test_with_its_profile_the_whole_run_succeeds(
    front: str, server: ModelServer, tmp_path: Path
) -> None:
    done, _ = await verify(tmp_path, front, server.kind.model, "--profile", server.kind.name)

    assert done.code == 0, done.out


async def test_chat_completions_break_nothing_that_the_server_keeps(
    front: str, server: ModelServer, tmp_path: Path
) -> None:
    flags = ("--api", "chat", "--parallel", "1")
    _, own = await verify(tmp_path, server.url, server.kind.model, *flags)
    _, passed_on = await verify(tmp_path, front, server.kind.model, *flags)

    passed = {one["id"] for one in own if one["outcome"] == "passed"}
    lost = (
        broken(passed_on).keys() & passed
    )  # what its noise kept from being judged there is compared with nothing
    assert lost == set()
    assert len(passed) > 40
