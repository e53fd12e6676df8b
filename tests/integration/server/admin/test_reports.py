"""Reports of `antiphon verify` over the API: administrators keep, list, compare and delete them."""

import json

import pytest

from antiphon.storage.records.tenants import Role
from antiphon_verify.report import encode_report
from tests.integration.console.test_reports import report, result
from tests.support.server import RunningServer
from tests.support.signed_in import signed_in

REPORTS = "/admin/v1/reports"


async def test_an_administrator_keeps_reads_compares_and_deletes_a_report(
    stateful: RunningServer,
) -> None:
    admin = await signed_in(stateful, Role.ADMIN)
    body = json.loads(encode_report(report(result("a:b:one"))))
    saved = (await admin.send_request("POST", REPORTS, body)).json
    assert (saved["object"], saved["server"]) == ("verify.report", "gpu-a")
    listed = (await admin.send_request("GET", REPORTS)).json
    assert [one["id"] for one in listed["data"]] == [saved["id"]]
    details = (await admin.send_request("GET", f"{REPORTS}/{saved['id']}")).json
    assert details["areas"][0]["results"][0]["id"] == "a:b:one"
    matrix = (await admin.send_request("GET", f"{REPORTS}/matrix?ids={saved['id']}")).json
    assert matrix["areas"][0]["scores"] == ["1/1"]
    deleted = await admin.send_request("DELETE", f"{REPORTS}/{saved['id']}")
    assert deleted.json == {"object": "verify.report", "id": saved["id"], "deleted": True}
    assert (await admin.send_request("GET", f"{REPORTS}/{saved['id']}")).status == 404


async def test_a_reader_sees_no_report(stateful: RunningServer) -> None:
    reader = await signed_in(stateful, Role.READ)
    for method, path in (
        ("GET", ""),
        ("POST", ""),
        ("GET", "/matrix"),
        ("GET", "/report_1"),
        ("DELETE", "/report_1"),
    ):
        assert (await reader.send_request(method, REPORTS + path)).status == 403, path


async def test_keeping_and_deleting_are_in_the_audit_log(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    admin = await signed_in(stateful, Role.ADMIN)
    with caplog.at_level("INFO", "antiphon.audit"):
        saved = (
            await admin.send_request(
                "POST", REPORTS, json.loads(encode_report(report(result("a:b:one"))))
            )
        ).json
        await admin.send_request("DELETE", f"{REPORTS}/{saved['id']}")
    assert [record.getMessage().split()[0] for record in caplog.records] == [
        "report_saved",
        "report_deleted",
    ]


async def test_a_body_that_is_not_a_report_is_rejected(stateful: RunningServer) -> None:
    admin = await signed_in(stateful, Role.ADMIN)
    answered = await admin.send_request("POST", REPORTS, {"name": "x"})
    assert answered.status == 400
    assert "antiphon verify --json" in answered.json["error"]["message"]
