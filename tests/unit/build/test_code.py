"""The sandbox that the settings name is tried at the start of the server."""

from typing import Any

import pytest

from antiphon.build import code
from antiphon.build.code import open_sandbox
from antiphon.config import Settings
from antiphon.errors import ConfigError
from antiphon.tools.base import CodeState
from tests.support.fake_machines import FakeSandbox

PARTS: Any = (None, None)
"""The parts with which the tools are opened, which happens at their first use."""

WITH_CODE = Settings(code_sandbox="bubblewrap")


async def test_settings_without_a_sandbox_have_none() -> None:
    assert await open_sandbox(Settings(), {}) is None


async def test_a_broken_sandbox_disables_the_tools_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox = FakeSandbox("bubblewrap is not installed. Install it.")
    monkeypatch.setattr(code, "sandbox_of", lambda *_: sandbox)

    opened = await open_sandbox(WITH_CODE, {})

    assert opened is not None and opened.tools(*PARTS) is None
    assert opened.state() == CodeState("bubblewrap", await sandbox.probe())
    assert all(
        one in caplog.text for one in ("code_interpreter", "shell", "bubblewrap is not installed.")
    )
    assert sandbox.is_closed


async def test_a_probe_that_raises_is_a_sandbox_that_does_not_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sandbox = FakeSandbox()

    async def fails() -> str:
        raise OSError("no such device")

    monkeypatch.setattr(sandbox, "probe", fails)
    monkeypatch.setattr(code, "sandbox_of", lambda *_: sandbox)
    opened = await open_sandbox(WITH_CODE, {})

    assert opened is not None and opened.state().problem == "The probe failed: no such device"


async def test_a_sandbox_that_no_request_used_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = FakeSandbox()
    monkeypatch.setattr(code, "sandbox_of", lambda *_: sandbox)
    opened = await open_sandbox(WITH_CODE, {})
    assert opened is not None
    tools = opened.tools(*PARTS)
    assert tools is not None and opened.state() == CodeState("bubblewrap")

    await tools.close()

    assert sandbox.is_closed


async def test_a_remote_sandbox_needs_its_key() -> None:
    remote = Settings(code_sandbox="e2b", code_e2b_url="https://e2b.example")
    with pytest.raises(ConfigError, match="needs the key in E2B_API_KEY, which is not set"):
        await open_sandbox(remote, {})
