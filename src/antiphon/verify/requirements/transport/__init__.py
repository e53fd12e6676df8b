"""Transport: what lies beneath both."""

from antiphon.verify.requirements.transport import http, sse

TABLES = (
    http.TABLE,
    sse.TABLE,
)
