from refunds import refunds

from antiphon.testing.agents import AgentHarness


def test_refunds_survive_a_crash_at_any_moment() -> None:
    found = AgentHarness(refunds).kill_everywhere("Refund order 17", answers={"refund": True})

    assert found.differing == []
    assert found.executions["refund/0"] == 1


def test_a_refund_needs_an_approval() -> None:
    response = AgentHarness(refunds).run("Refund order 17", answers={"refund": "It is too late."})

    assert response.output_text == "No refund was made. It is too late."
