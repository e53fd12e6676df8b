"""`antiphon containers`: running containers are listed, and killed ones are deleted with their
files.
"""

from pathlib import Path

from antiphon.storage.containers import find_container
from antiphon.storage.open import open_store
from antiphon.storage.operations import containers
from tests.store.containers import AMPLE, expired_container, new_container
from tests.support.cli import antiphon


async def test_containers_are_listed_and_killed(tmp_path: Path, store_url: str) -> None:
    at = "--store", store_url
    assert "--all" in (await antiphon(tmp_path, "containers", "list", *at)).out
    assert (
        await antiphon(tmp_path, "containers", "list", "--all", *at)
    ).out == "There are no containers.\n"
    store = await open_store(store_url)
    mine = new_container("acme")
    theirs = new_container("")
    old = expired_container("acme")
    for one in (mine, theirs, old):
        assert await store.write(containers.put, one, (), AMPLE)
    await store.write(containers.hold, "acme", mine.id, "call", "worker_1", 60)

    listed = (await antiphon(tmp_path, "containers", "list", *at)).out
    rows = {line.split()[0]: line for line in listed.splitlines()[1:]}
    assert rows.keys() == {mine.id, theirs.id}
    assert all(word in rows[mine.id] for word in ("acme", "busy", "worker_1", "1g"))
    assert "running" in rows[theirs.id]
    listed = (await antiphon(tmp_path, "containers", "list", "--all", "--tenant", "acme", *at)).out
    assert [mine.id in listed, theirs.id in listed, old.id in listed] == [True, False, True]

    done = await antiphon(tmp_path, "containers", "kill", mine.id, theirs.id, *at)
    assert (done.code, done.out) == (0, f"Killed {mine.id}.\nKilled {theirs.id}.\n")
    assert not await store.write(containers.renew_hold, "acme", mine.id, "call", 60)
    again = await antiphon(tmp_path, "containers", "kill", mine.id, *at)
    assert (again.code, f"The container '{mine.id}' does not exist." in again.err) == (2, True)
    await store.close()


async def test_a_container_of_another_tenant_than_the_named_one_is_not_killed(
    tmp_path: Path, store_url: str
) -> None:
    store = await open_store(store_url)
    container = new_container("acme")
    assert await store.write(containers.put, container, (), AMPLE)
    done = await antiphon(
        tmp_path, "containers", "kill", container.id, "--tenant", "other", "--store", store_url
    )
    assert done.code == 2
    assert await find_container(store, "acme", container.id) is not None
    await store.close()
