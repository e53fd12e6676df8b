"""Metrics by tenant, for the operator who sets `metrics_tenants`: a bounded number of names."""

from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.persistence import RequestIdentity
from antiphon.telemetry.kinds import Counter
from antiphon.telemetry.tenants import TenantMetrics
from tests.support.parts import plain, scripted_parts


def counts(counter: Counter) -> dict[tuple[str, ...], float]:
    return {tuple(one.labels.values()): one.value for one in counter.samples()}


async def request(created: Parts, tenant: str) -> None:
    request = decode_request(b'{"model": "m", "input": "Hi", "store": false}')
    run = await Gateway(created).create(request, RequestIdentity(tenant=tenant))
    await run.result()


async def test_the_first_tenants_have_their_names_and_all_others_share_one() -> None:
    created, _ = scripted_parts(*[plain()] * 6)
    created.run.observers.add(TenantMetrics(created.measures, most=2))
    for tenant in ("acme", "", "third", "acme", "fourth"):
        await request(created, tenant)

    assert counts(created.measures.tenant_responses) == {
        ("acme", "completed"): 2,
        ("", "completed"): 1,
        ("other", "completed"): 2,
    }
    tokens = counts(created.measures.tenant_tokens)
    assert tokens["acme", "input"] == 2 * tokens["", "input"] > 0
    assert tokens["acme", "output"] == tokens["other", "output"] > 0


async def test_tenants_are_counted_only_on_request() -> None:
    created, _ = scripted_parts(plain())
    await request(created, "acme")

    assert counts(created.measures.tenant_responses) == {}
