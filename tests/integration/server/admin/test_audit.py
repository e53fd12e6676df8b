"""The audit log names who did what, and holds no secret."""

import logging
from typing import Any

import pytest

from antiphon.access.sessions import Sessions
from antiphon.ids import now
from antiphon.storage.records.tenants import Role
from antiphon.telemetry.formatters import FIELDS
from tests.support.keys import issued
from tests.support.server import Served
from tests.support.signed_in import HERE, Browser, console_of


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The fields of each line of the audit log so far, without what says that it is one."""
    found = [getattr(record, FIELDS) for record in caplog.records if record.name == "antiphon.audit"]
    assert all(one["kind"] == "audit" for one in found)
    return [{name: value for name, value in one.items() if name != "kind"} for one in found]


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")


async def test_signing_in_and_out_is_told_and_no_secret(stateful: Served, caplog: pytest.LogCaptureFixture) -> None:
    key, kept = await issued(stateful.parts.store, "acme", role=Role.READ)
    browser = Browser(console_of(stateful))
    await browser.sign_in(key=key)
    await browser.ask("DELETE", "/admin/v1/session")
    await browser.sign_in(key="sk-guessed")
    code = await Sessions(stateful.parts.store, now).issue_code()
    await browser.sign_in(code=code)

    who = {"key_id": kept.id, "tenant": "acme"}
    assert lines(caplog) == [
        {"event": "sign_in", **who, "role": "read", "address": HERE},
        {"event": "sign_out", **who},
        {"event": "sign_in_failed", "address": HERE},
        {"event": "sign_in", "role": "admin", "address": HERE},
    ]
    assert not any(secret in caplog.text for secret in (key, "sk-guessed", code, browser.cookie.partition("=")[2]))


async def test_each_change_is_told_with_who_made_it(stateful: Served, caplog: pytest.LogCaptureFixture) -> None:
    key, kept = await issued(stateful.parts.store, "operators", role=Role.ADMIN)
    browser = Browser(console_of(stateful))
    await browser.sign_in(key=key)
    made = (await browser.ask("POST", "/admin/v1/keys", {"tenant": "acme"})).json
    path = f"/admin/v1/keys/{made['id']}"
    await browser.ask("POST", path, {"role": "read"})
    second = (await browser.ask("POST", f"{path}/rotate", {})).json
    await browser.ask("DELETE", path)
    await browser.ask("DELETE", "/admin/v1/keys/key_none")

    about = {"by": kept.id, "key_id": made["id"], "tenant": "acme"}
    assert lines(caplog)[1:] == [
        {"event": "key_created", **about, "role": "use"},
        {"event": "key_changed", **about, "role": "read"},
        {"event": "key_rotated", **about},
        {"event": "key_revoked", **about},
    ]
    assert not any(secret in caplog.text for secret in (made["key"], second["key"]))
