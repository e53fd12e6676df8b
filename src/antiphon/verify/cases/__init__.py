"""Every case, in the folders of the requirements."""

from antiphon.verify.case import Case, cases_of
from antiphon.verify.gathering import areas

CASES: tuple[Case, ...] = cases_of(*areas(__name__))
