"""The audit log: one line for each sign-in, each change, and each access to another tenant's data.

The lines go to the logger `antiphon.audit`, with fields as in the access log. None of them contains
a key, a token or a secret.
"""

import logging
from collections.abc import Collection
from typing import Any

from antiphon.server.admin.access import Viewer
from antiphon.telemetry.formatters import fields

log = logging.getLogger("antiphon.audit")


def audit(event: str, **stated: Any) -> None:
    """Write the line of an event such as `sign_in`.

    `stated` are its fields; empty fields are omitted.
    """
    known = {name: value for name, value in stated.items() if value not in ("", None)}
    text = " ".join((event, *(f"{name}={value}" for name, value in known.items())))
    log.info("%s", text, extra=fields(kind="audit", event=event, **known))


def audit_reading(caller: Viewer, tenants: Collection[str], what: str, **stated: Any) -> None:
    """Write a line for each other tenant with content that the caller reads; `what` names it, such
    as `response`.
    """
    for tenant in sorted({*tenants} - {caller.tenant}):
        audit("read", key_id=caller.key_id, tenant=tenant, what=what, **stated)
