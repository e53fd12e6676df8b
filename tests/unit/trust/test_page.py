"""The page of a trust report."""

from antiphon.trust.claims import CheckedClaim, TrustReport
from antiphon.trust.page import page_of


def report(*findings: CheckedClaim) -> TrustReport:
    return TrustReport(
        version="1.0",
        python="3.11",
        system="Linux",
        cores=2,
        store="SQLite",
        began=1_700_000_000,
        seconds=9.0,
        seed=7,
        command="antiphon trust-report --seed 7",
        findings=findings,
    )


HOLDS = CheckedClaim(
    check="load", claim="No request fails.", outcome="holds", figures={"requests": 5}
)
BROKEN = CheckedClaim(check="disk", claim="Nothing is <lost>.", outcome="broken", detail="resp_<b>")


def test_a_page_states_how_many_claims_hold_and_what_repeats_them() -> None:
    page = page_of(report(HOLDS))

    assert "<h1>1 of 1 claims hold</h1>" in page
    assert "antiphon trust-report --seed 7" in page
    assert "14 November 2023" in page


def test_one_broken_claim_is_the_headline() -> None:
    page = page_of(report(HOLDS, BROKEN))

    assert "<h1>1 of 2 claims are broken</h1>" in page
    assert "<b>" not in page
    assert "resp_&lt;b&gt;" in page
