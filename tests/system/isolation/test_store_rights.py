"""A role in PostgreSQL that lacks rights: the server says which, and with just the needed ones it
serves.
"""

import signal
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from antiphon.storage.operations import facts
from antiphon.storage.operations import figures as stored_figures
from antiphon.storage.postgres.rights import needed
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.facts import LATE
from antiphon.storage.records.figures import FiguresQuery
from antiphon.storage.upkeep import purge
from tests.store.facts import new_facts
from tests.support.command import antiphon, serving
from tests.support.postgres import Postgres, owned_by_a_role
from tests.support.replay import ReplayBackend


async def place_for(postgres: Postgres, folder: Path, *grants: str) -> str:
    """A database with its schema, as a role that has these rights in it."""
    url = await owned_by_a_role(postgres)
    owner = url.partition("://")[2].partition("@")[0]
    assert (await antiphon(folder, "migrate", "--store", url)).code == 0
    role = f"{owner}_guest"
    await postgres.execute(f"CREATE ROLE {role} LOGIN NOSUPERUSER")
    connection = await asyncpg.connect(url)
    for grant in (*grants, "SELECT ON antiphon_migrations"):
        await connection.execute(f"GRANT {grant} TO {role}")
    await connection.close()
    return url.replace(f"{owner}@", f"{role}@", 1)


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_the_rights_that_a_role_lacks_are_named(
    tmp_path: Path, backend: ReplayBackend, postgres: Postgres, workers: str
) -> None:
    url = await place_for(postgres, tmp_path, "SELECT ON ALL TABLES IN SCHEMA public")
    flags = ("--port", "0", "--workers", workers, "--backend", backend.url, "--store", url)
    done = await antiphon(tmp_path, "serve", *flags)
    listed = await antiphon(tmp_path, "keys", "list", "--store", url)

    assert (done.code, done.out) == (2, "")
    assert "lacks privileges: INSERT on" in done.err
    assert "UPDATE on" in done.err
    assert "ERROR" not in done.err
    assert "Traceback" not in done.err
    assert listed.code == 0


async def test_the_requested_privileges_are_sufficient(
    tmp_path: Path, backend: ReplayBackend, postgres: Postgres
) -> None:
    grants = [f"{right} ON {', '.join(sorted(tables))}" for right, tables in needed().items()]
    url = await place_for(postgres, tmp_path, *grants)
    flags = ("--port", "0", "--backend", backend.url, "--store", url)
    statuses = []
    async with serving(tmp_path, *flags) as server, aiohttp.ClientSession() as http:
        for body in ({}, {"conversation": None}, {"background": True, "stream": True}):
            headers = {"idempotency-key": f"key-{len(statuses)}"}
            if "conversation" in body:
                async with http.post(f"{server.url}/conversations", json={}) as response:
                    body = {"conversation": (await response.json())["id"]}
            request_body = {"model": "m", "input": "Hi", **body}
            async with http.post(
                f"{server.url}/responses", json=request_body, headers=headers
            ) as response:
                await response.read()
                statuses.append(response.status)
        done = await server.stop(signal.SIGTERM)

    store = await PostgresStore.open(url)
    late = new_facts(tenant="", began=1_000, ended=1_000 + LATE, status="completed")
    await store.write(facts.put_new, [late])
    while await store.write(stored_figures.sum_up):
        pass
    figures = await store.read(stored_figures.figures, "", FiguresQuery(0, 60, 60))
    await purge(store)
    await store.close()

    assert figures.spans[0].by_status == {"completed": 1}
    assert statuses == [200, 200, 200]
    assert (done.code, done.err) == (0, "")
