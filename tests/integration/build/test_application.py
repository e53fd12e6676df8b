"""The parts of a process are closed together, whatever fails."""

import pytest

from antiphon.build import build, server
from antiphon.config import PromptConfig, Settings
from antiphon.errors import ConfigError, StoreError
from antiphon.storage.operations import api_keys
from antiphon.storage.store import Store
from antiphon.upstream.demo.backend import DemoBackend

SETTINGS = Settings(store="sqlite://", check_interval=0)


async def is_closed(store: Store) -> bool:
    try:
        await store.read(api_keys.any_at_all)
    except StoreError as error:
        return "closed" in error.message
    return False


async def test_a_part_that_cannot_be_closed_leaves_no_other_open() -> None:
    built = await build(SETTINGS, {}, backends=[DemoBackend()])
    built.start()

    async def fails() -> None:
        raise RuntimeError("stuck")

    built.closing.push_async_callback(fails)
    with pytest.raises(RuntimeError, match="stuck"):
        await built.close()

    assert await is_closed(built.parts.store)
    assert not built.parts.process.accepts_work


async def test_settings_that_prove_invalid_late_leave_no_store_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = list[Store]()
    open_store = server.open_store

    async def noted(*args: object, **named: object) -> Store:
        opened.append(await open_store(*args, **named))  # type: ignore[arg-type]
        return opened[-1]

    monkeypatch.setattr(server, "open_store", noted)
    wrong = Settings(store="sqlite://", prompts={"not an id": PromptConfig(instructions="Look.")})
    with pytest.raises(ConfigError, match="not an id"):
        await build(wrong, {}, backends=[DemoBackend()])

    assert [await is_closed(store) for store in opened] == [True]
