"""Keys as an operator makes them, on both stores: shown once, listed without what they are, revoked
and rotated.
"""

from pathlib import Path

import pytest
from msgspec.structs import replace

from antiphon.access.api_keys import Mint
from antiphon.errors import StoreError
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import ApiKey, KeyLimits
from antiphon.storage.store import Store
from tests.support.cli import antiphon


async def created(home: Path, store_url: str, *flags: str) -> tuple[str, str]:
    """Make a key; return it and its id."""
    done = await antiphon(home, "keys", "create", "--store", store_url, *flags)
    assert done.code == 0, done.err
    return done.out.strip(), done.err.split()[0]


async def found(store_url: str, key: str) -> ApiKey | None:
    store = await open_store(store_url)
    try:
        return await store.read(api_keys.find, (await Mint.of(store)).digest(key.encode()))
    finally:
        await store.close()


async def test_a_key_is_created_with_its_limits_and_listed_without_its_secret(
    tmp_path: Path, store_url: str
) -> None:
    flags = (
        "--tenant",
        "acme",
        "--name",
        "build",
        "--model",
        "a",
        "--model",
        "b",
        "--requests-per-minute",
        "60",
    )
    more = (
        "--tokens-per-minute",
        "1000",
        "--tokens-per-day",
        "5000",
        "--concurrency",
        "3",
        "--expires-in",
        "30",
        "--cache",
    )
    key, key_id = await created(tmp_path, store_url, *flags, *more, "--concurrency", "3")
    stored = await found(store_url, key)
    listed = await antiphon(tmp_path, "keys", "list", "--store", store_url)

    assert stored is not None
    assert (stored.id, stored.tenant, stored.limits) == (
        key_id,
        "acme",
        KeyLimits(("a", "b"), 60, 1000, 5000, 3),
    )
    assert stored.caches
    assert key not in listed.out
    for words in (key_id, f"…{key[-4:]}", "acme", "build", "until", "60 requests/min"):
        assert words in listed.out


@pytest.mark.parametrize("columns", ["40", "80", "120"])
async def test_nothing_of_a_list_is_cut_in_a_pipe(tmp_path: Path, columns: str) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    key, key_id = await created(
        tmp_path, url, "--tenant", "a" * 150, "--name", "[bold]", "--tokens-per-day", "7"
    )
    _, row = (
        await antiphon(tmp_path, "keys", "list", "--store", url, COLUMNS=columns)
    ).out.splitlines()

    for words in (key_id, f"…{key[-4:]} ", "a" * 150, "[bold]", "7 tokens/day"):
        assert words in row


async def test_the_store_is_named_when_a_key_is_created_or_listed(
    tmp_path: Path, store_url: str
) -> None:
    for command in ("list", "create", "list"):
        done = await antiphon(
            tmp_path,
            "keys",
            command,
            "--store",
            store_url.replace("postgres@", "postgres:sk-secret@"),
        )
        assert done.code == 0
        assert store_url.rpartition("/")[2] in done.out + done.err
        assert "sk-secret" not in done.out + done.err
        assert command == "list" or done.out.split() == [done.out.strip()]


async def test_nothing_in_the_store_is_the_key(tmp_path: Path) -> None:
    key, _ = await created(tmp_path, f"sqlite://{tmp_path}/a.db")

    stored = b"".join(path.read_bytes() for path in tmp_path.glob("a.db*"))  # noqa: ASYNC240 - a test blocks no other task
    assert key[12:].encode() not in stored


async def test_a_revoked_key_is_rejected_and_still_listed(tmp_path: Path, store_url: str) -> None:
    key, key_id = await created(tmp_path, store_url)
    done = await antiphon(tmp_path, "keys", "revoke", key_id, "--store", store_url)

    assert (done.code, done.out) == (0, f"{key_id} is revoked.\n")
    assert await found(store_url, key) is None
    assert "revoked" in (await antiphon(tmp_path, "keys", "list", "--store", store_url)).out
    done = await antiphon(tmp_path, "keys", "rotate", key_id, "--store", store_url)
    assert (done.code, "is revoked or has expired" in done.err) == (2, True)


async def test_a_key_that_has_expired_is_not_rotated_into_one_that_has_too(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    _, key_id = await created(tmp_path, url)
    store = await open_store(url)
    await store.write(
        api_keys.put, replace((await store.read(api_keys.every))[0], expires_at=1_700_000_001)
    )
    await store.close()

    done = await antiphon(tmp_path, "keys", "rotate", key_id, "--store", url)
    assert (done.code, done.out, "is revoked or has expired" in done.err) == (2, "", True)


@pytest.mark.parametrize(("hours", "is_stored"), [("0", False), ("1", True)])
async def test_a_rotated_key_has_the_old_ones_id_and_limits(
    tmp_path: Path, hours: str, is_stored: bool
) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    old, key_id = await created(tmp_path, url, "--concurrency", "2")
    done = await antiphon(tmp_path, "keys", "rotate", key_id, "--keep-old", hours, "--store", url)
    new = await found(url, done.out.strip())

    assert new is not None
    assert (new.id, new.limits.concurrency) == (key_id, 2)
    assert (await found(url, old) == new) is is_stored


@pytest.mark.parametrize("tenant", [" acme", "acme ", "ac\tme", "\x1b[31macme", "a" * 201])
async def test_a_tenants_name_has_no_blanks_around_it_and_nothing_invisible(
    tmp_path: Path, tenant: str
) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    done = await antiphon(tmp_path, "keys", "create", "--tenant", tenant, "--store", url)

    assert (done.code, done.out) == (2, "")
    assert "1 to 200 visible characters" in done.err
    assert "has no API key" in (await antiphon(tmp_path, "keys", "list", "--store", url)).out


async def test_mistakes_are_reported_on_one_line(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    for command in (["revoke", "key_none"], ["rotate", "key_none"], ["create", "--tenant", "\x1b"]):
        done = await antiphon(tmp_path, "keys", *command, "--store", url)
        assert (done.code, done.err.count("\n")) == (2, 1)
    assert "has no API key" in (await antiphon(tmp_path, "keys", "list", "--store", url)).out


async def test_an_unstored_revocation_is_reported(
    tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, key_id = await created(tmp_path, store_url)

    async def refuse(self: Store, operation: object, key: ApiKey) -> None:
        assert operation is api_keys.put
        raise StoreError("The store's disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", refuse)
        done = await antiphon(tmp_path, "keys", "revoke", key_id, "--store", store_url)
    assert done.code == 1
    assert key_id in done.err and "not revoked" in done.err
    stored = await found(store_url, key)
    assert stored is not None and stored.revoked_at is None
