"""Every requirement: a folder for each API, a table for each area."""

from antiphon.verify.requirement import Requirement
from antiphon.verify.requirements import chat, responses, transport

TABLES = (*chat.TABLES, *responses.TABLES, *transport.TABLES)

REQUIREMENTS: dict[str, Requirement] = {requirement.id: requirement for table in TABLES for requirement in table}
"""By their ids, in the order of the tables."""
