"""Every requirement: a folder for each API, a table for each area."""

from antiphon.conformance.gathering import areas
from antiphon.conformance.requirement import Requirement, Table

TABLES: tuple[Table, ...] = tuple(area.TABLE for area in areas(__name__))

REQUIREMENTS: dict[str, Requirement] = {requirement.id: requirement for table in TABLES for requirement in table}
"""By their ids, in the order of the tables."""
