"""Every case, in the folders of the requirements."""

from antiphon.conformance.case import Case, cases_of
from antiphon.conformance.gathering import areas

CASES: tuple[Case, ...] = cases_of(*areas(__name__))
