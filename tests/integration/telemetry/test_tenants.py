"""Metrics by tenant, for the operator who sets `metrics_tenants`: a bounded number of names."""

from antiphon.gateway import Gateway
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.persistence import RequestIdentity
from antiphon.runs.engine import Engine
from antiphon.telemetry.kinds import Counter
from antiphon.telemetry.tenants import TenantMetrics
from tests.support.engine import engine, plain


def counts(counter: Counter) -> dict[tuple[str, ...], float]:
    return {tuple(one.labels.values()): one.value for one in counter.samples()}


async def ask(made: Engine, tenant: str) -> None:
    request = decode_request(b'{"model": "m", "input": "Hi", "store": false}')
    run = await Gateway(made).create(request, RequestIdentity(tenant=tenant))
    await run.result()


async def test_the_first_tenants_have_their_names_and_all_others_share_one() -> None:
    made, _ = engine(*[plain()] * 6)
    made.observers.add(TenantMetrics(made.measures, most=2))
    for tenant in ("acme", "", "third", "acme", "fourth"):
        await ask(made, tenant)

    assert counts(made.measures.tenant_responses) == {
        ("acme", "completed"): 2,
        ("", "completed"): 1,
        ("other", "completed"): 2,
    }
    tokens = counts(made.measures.tenant_tokens)
    assert tokens["acme", "input"] == 2 * tokens["", "input"] > 0
    assert tokens["acme", "output"] == tokens["other", "output"] > 0


async def test_no_tenant_is_counted_unless_asked_for() -> None:
    made, _ = engine(plain())
    await ask(made, "acme")

    assert counts(made.measures.tenant_responses) == {}
