"""`/admin/v1/lessons`: what refusals of backends taught about their models. For administrators:
a lesson comes from a request of any tenant.
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import LessonsQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest

ALL = "/admin/v1/lessons"
ONE = f"{ALL}/{{lesson_id}}"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def list_lessons(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        caller.check_admin()
        return Reply(await gateway.lessons.page(decode_query(http.query(), LessonsQuery)))

    async def forget_lesson(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        caller.check_admin()
        lesson_id = http.path_params["lesson_id"]
        forgotten = await gateway.lessons.forget(lesson_id)
        audit(
            "lesson_forgotten",
            by=caller.key_id,
            lesson_id=lesson_id,
            model=forgotten.model,
            lesson=forgotten.name,
            tenant=forgotten.tenant,
        )
        return Reply({"object": "lesson", "id": lesson_id, "deleted": True})

    return {ALL: {"GET": list_lessons}, ONE: {"DELETE": forget_lesson}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", ALL, "List what refusals of backends taught", query=LessonsQuery),
        Described("delete", ONE, "Forget what a refusal of a backend taught"),
    )
