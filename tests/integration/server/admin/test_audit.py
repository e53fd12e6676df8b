"""The audit log names who did what, and holds no secret."""

import logging
from typing import Any

import pytest

from antiphon.access.sessions import ConsoleSessions
from antiphon.ids import now
from antiphon.storage.records.tenants import Role
from antiphon.telemetry.formatters import FIELDS
from tests.support.keys import issued
from tests.support.server import RunningServer
from tests.support.signed_in import HERE, Browser, console_of


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The fields of each line of the audit log so far, without what says that it is one."""
    found = [
        getattr(record, FIELDS) for record in caplog.records if record.name == "antiphon.audit"
    ]
    assert all(one["kind"] == "audit" for one in found)
    return [{name: value for name, value in one.items() if name != "kind"} for one in found]


@pytest.fixture(autouse=True)
def received(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")


async def test_signing_in_and_out_is_logged_without_secrets(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    key, stored_key = await issued(stateful.parts.store, "acme", role=Role.READ)
    browser = Browser(console_of(stateful))
    await browser.sign_in(key=key)
    await browser.send_request("DELETE", "/admin/v1/session")
    await browser.sign_in(key="sk-guessed")
    code = await ConsoleSessions(stateful.parts.store, now).issue_code()
    await browser.sign_in(code=code)

    caller = {"key_id": stored_key.id, "tenant": "acme"}
    assert lines(caplog) == [
        {"event": "sign_in", **caller, "role": "read", "address": HERE},
        {"event": "sign_out", **caller},
        {"event": "sign_in_failed", "address": HERE},
        {"event": "sign_in", "role": "admin", "address": HERE},
    ]
    assert not any(
        secret in caplog.text
        for secret in (key, "sk-guessed", code, browser.cookie.partition("=")[2])
    )


async def test_each_change_is_reported_with_its_author(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    key, stored_key = await issued(stateful.parts.store, "operators", role=Role.ADMIN)
    browser = Browser(console_of(stateful))
    await browser.sign_in(key=key)
    created = (await browser.send_request("POST", "/admin/v1/keys", {"tenant": "acme"})).json
    path = f"/admin/v1/keys/{created['id']}"
    await browser.send_request("POST", path, {"role": "read"})
    second = (await browser.send_request("POST", f"{path}/rotate", {})).json
    await browser.send_request("DELETE", path)
    await browser.send_request("DELETE", "/admin/v1/keys/key_none")

    about = {"by": stored_key.id, "key_id": created["id"], "tenant": "acme"}
    assert lines(caplog)[1:] == [
        {"event": "key_created", **about, "role": "use"},
        {"event": "key_changed", **about, "role": "read"},
        {"event": "key_rotated", **about},
        {"event": "key_revoked", **about},
    ]
    assert not any(secret in caplog.text for secret in (created["key"], second["key"]))
