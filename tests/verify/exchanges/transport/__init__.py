"""Transport: what lies beneath both."""

from tests.verify.exchanges.transport import http, sse

AREAS = (
    http,
    sse,
)
