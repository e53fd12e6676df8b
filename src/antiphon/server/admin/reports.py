"""`/admin/v1/reports`: reports of `antiphon verify`. They show how backends fail, so only
administrators see them.
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import MatrixQuery, SaveReport
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import Viewer, viewer
from antiphon.server.admin.audit import audit
from antiphon.server.admin.lists import listed
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def admin(http: HttpRequest) -> Viewer:
        caller = await viewer(http, gateway)
        caller.check_admin()
        return caller

    async def list_reports(http: HttpRequest) -> Reply:
        await admin(http)
        return Reply(listed(await gateway.reports.list()))

    async def save_report(http: HttpRequest) -> Reply:
        caller = await admin(http)
        saved = await gateway.reports.save(await http.body())
        audit("report_saved", by=caller.key_id, report_id=saved["id"], server=saved["server"])
        return Reply(saved)

    async def get_matrix(http: HttpRequest) -> Reply:
        await admin(http)
        ids = decode_query(http.query(), MatrixQuery).ids
        return Reply(await gateway.reports.matrix([each for each in ids.split(",") if each]))

    async def get_report(http: HttpRequest) -> Reply:
        await admin(http)
        return Reply(await gateway.reports.details(http.path_params["report_id"]))

    async def delete_report(http: HttpRequest) -> Reply:
        caller = await admin(http)
        report_id = http.path_params["report_id"]
        await gateway.reports.delete(report_id)
        audit("report_deleted", by=caller.key_id, report_id=report_id)
        return Reply({"object": "verify.report", "id": report_id, "deleted": True})

    return {
        "/admin/v1/reports": {"GET": list_reports, "POST": save_report},
        "/admin/v1/reports/matrix": {"GET": get_matrix},
        "/admin/v1/reports/{report_id}": {"GET": get_report, "DELETE": delete_report},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    path = "/admin/v1/reports"
    one = f"{path}/{{report_id}}"
    changes = "Get a report, with the changes since the previous one"
    return (
        Described("get", path, "List reports of antiphon verify"),
        Described("post", path, "Store a report of antiphon verify", SaveReport),
        Described("get", f"{path}/matrix", "Compare reports side by side", query=MatrixQuery),
        Described("get", one, changes),
        Described("delete", one, "Delete a report"),
    )
