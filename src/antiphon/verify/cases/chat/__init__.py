"""Chat Completions."""

from antiphon.verify.case import Case, cases_of
from antiphon.verify.cases.chat import answer, errors, formats, images, parameters, stream, tools

CASES: tuple[Case, ...] = cases_of(answer, errors, formats, images, parameters, stream, tools)
