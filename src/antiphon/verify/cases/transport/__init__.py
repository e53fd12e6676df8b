"""Transport: what lies beneath both."""

from antiphon.verify.case import Case, cases_of
from antiphon.verify.cases.transport import http, sse

CASES: tuple[Case, ...] = cases_of(http, sse)
