"""Every requirement can be kept, and can be broken; what a server says to it can be anything."""

import pytest

from antiphon.verify import requirements
from antiphon.verify.cases import CASES
from antiphon.verify.requirement import Table
from antiphon.verify.requirements import REQUIREMENTS, TABLES
from tests.verify.exchanges import Shown, chat, play, responses, transport

AREAS = (*chat.AREAS, *responses.AREAS, *transport.AREAS)

EXCHANGES: dict[str, Shown] = {name: shown for area in AREAS for name, shown in area.EXCHANGES.items()}


def test_every_requirement_has_an_exchange_that_keeps_it_and_one_that_breaks_it() -> None:
    assert EXCHANGES.keys() == REQUIREMENTS.keys()


@pytest.mark.parametrize("id", EXCHANGES)
def test_a_requirement_is_kept_by_the_one_and_broken_by_the_other(id: str) -> None:
    shown = EXCHANGES[id]
    good, bad = play(shown.case, shown.good), play(shown.case, shown.bad)

    assert (good[id].outcome, good[id].came) == ("passed", "")
    assert bad[id].outcome == "failed"
    assert bad[id].came


def test_no_requirement_is_without_a_case_and_no_case_without_a_requirement() -> None:
    judged = {name for case in CASES for name in case.ids}

    assert judged == REQUIREMENTS.keys()
    assert all(case.ids for case in CASES)


def test_every_id_and_every_name_of_a_case_is_given_once() -> None:
    assert sum(map(len, TABLES)) == len(REQUIREMENTS)
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_requirement_stands_in_the_file_of_its_area() -> None:
    assert {area_of(table): {requirement.area for requirement in table} for table in TABLES if table} == {
        area: {area} for area in map(area_of, filter(None, TABLES))
    }


def area_of(table: Table) -> str:
    return next(area for area, tables in BY_AREA.items() if tables is table)


BY_AREA = {
    f"{api.__name__.rpartition('.')[2]}:{name.replace('_', '-')}": module.TABLE
    for api in (requirements.chat, requirements.responses, requirements.transport)
    for name, module in vars(api).items()
    if hasattr(module, "TABLE")
}
