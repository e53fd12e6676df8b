"""Every requirement can be kept, and can be broken; what a server says to it can be anything."""

from types import ModuleType

from antiphon_verify import areas
from antiphon_verify.areas import CASES, REQUIREMENTS, TABLES, modules_of
from antiphon_verify.case import cases_of
from tests.support.cases import each
from tests.unit.conformance import exchanges
from tests.unit.conformance.exchanges import Shown, play

EXCHANGES: dict[str, Shown] = {
    name: shown for area in modules_of(exchanges.__name__) for name, shown in area.EXCHANGES.items()
}


def test_every_requirement_has_an_exchange_that_keeps_it_and_one_that_breaks_it() -> None:
    assert EXCHANGES.keys() == REQUIREMENTS.keys(), "correct EXCHANGES in tests/unit/conformance/exchanges"


@each("id", EXCHANGES)
def test_a_requirement_is_kept_by_the_one_and_broken_by_the_other(id: str) -> None:
    shown = EXCHANGES[id]
    good, bad = play(shown.case, shown.good), play(shown.case, shown.bad)

    assert (good[id].outcome, good[id].came) == ("passed", "")
    assert bad[id].outcome == "failed"
    assert bad[id].came


def test_no_requirement_is_without_a_case_and_no_case_without_a_requirement() -> None:
    judged = {name for case in CASES for name in case.ids}

    assert judged == REQUIREMENTS.keys(), "add or correct a case in the file of its TABLE, in conformance/areas"
    assert all(case.ids for case in CASES)


def test_every_id_and_every_name_of_a_case_is_given_once() -> None:
    assert sum(map(len, TABLES)) == len(REQUIREMENTS)
    assert len({case.name for case in CASES}) == len(CASES)


def area_of(module: ModuleType) -> str:
    """`responses:input-items` of `….responses.input_items`."""
    return ":".join(module.__name__.split(".")[-2:]).replace("_", "-")


@each("module", modules_of(areas.__name__), ids=area_of)
def test_a_file_has_the_requirements_of_its_area(module: ModuleType) -> None:
    assert {requirement.area for requirement in module.TABLE} == {area_of(module)}


def test_every_area_has_requirements_cases_and_exchanges() -> None:
    judged, shown = (list(map(area_of, modules_of(package.__name__))) for package in (areas, exchanges))

    assert judged == shown
    assert all(module.TABLE and cases_of(module) for module in modules_of(areas.__name__))
