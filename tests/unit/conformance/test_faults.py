"""Every requirement is one row, which its case meets with good replies, and violates with its
fault.
"""

from types import ModuleType

from antiphon_verify import areas
from antiphon_verify.areas import CASES, REQUIREMENTS, modules_of
from antiphon_verify.case import Case, cases_of
from antiphon_verify.requirement import Requirement
from tests.support.cases import each
from tests.unit.conformance.playing import play

DECLARED: dict[str, tuple[Case, Requirement]] = {
    row.id: (case, row) for case in reversed(CASES) for row in case.requirements
}
"""By the id of a requirement: its row, and the first case that declares it."""


@each("id", DECLARED)
def test_the_good_replies_meet_a_requirement_and_its_fault_breaks_it(id: str) -> None:
    case, row = DECLARED[id]
    assert row.fault, f"{id} has no fault that its case must find"
    good = play(case, row.good or case.good)
    bad = play(case, row.fault)

    assert (good[id].outcome, good[id].came) == ("passed", "")
    assert bad[id].outcome == "failed"
    assert bad[id].came


def test_no_requirement_is_without_a_case_and_no_case_without_a_requirement() -> None:
    judged = {name for case in CASES for name in case.ids}

    assert judged == REQUIREMENTS.keys(), (
        "declare a requirement in the case that judges it, in conformance/areas"
    )
    assert all(case.ids for case in CASES)


def test_every_id_has_one_row_and_every_case_a_name_of_its_own() -> None:
    rows = {id(row): row for case in CASES for row in case.requirements}

    assert len(rows) == len(REQUIREMENTS)
    assert len({case.name for case in CASES}) == len(CASES)


def area_of(module: ModuleType) -> str:
    """`responses:input-items` of `….responses.input_items`."""
    return ":".join(module.__name__.split(".")[-2:]).replace("_", "-")


@each("module", modules_of(areas.__name__), ids=area_of)
def test_a_file_declares_the_requirements_of_its_area(module: ModuleType) -> None:
    rows = [row for case in cases_of(module) for row in case.requirements]

    assert {row.area for row in rows} == {area_of(module)}
