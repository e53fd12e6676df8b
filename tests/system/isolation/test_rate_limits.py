"""What a backend rejects of one tenant takes the model from no other tenant."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.replay import JSON, Answer, ReplayBackend, echo
from tests.support.rivals import Tenant, rivals

REQUESTS = 60
"""Requests of B for each kind of rejection."""

TOO_LARGE = (
    "Request too large for gpt-4o in organization org-2itO on tokens per min (TPM): Limit 30000, "
    "Requested 36278. The input or output tokens must be reduced in order to run successfully."
)


@dataclass(frozen=True)
class Rejection:
    """How the backend answers A, and the status that A sees."""

    message: str = "Slow down."
    code: str | None = "rate_limit_exceeded"
    status: int = 429
    headers: dict[str, str] = field(default_factory=dict)
    seen: int = 429

    def answer(self) -> Answer:
        body = json.dumps({"error": {"message": self.message, "code": self.code}}).encode()
        return Answer([body], JSON, self.status, self.headers)


LONG = {"retry-after": "600"}

# The last one is about the account, and pauses every model of A.
REJECTIONS = {
    "too-large": Rejection(TOO_LARGE),
    "too-large-with-wait": Rejection(TOO_LARGE, headers=LONG),
    "limited": Rejection(),
    "limited-with-wait": Rejection(headers=LONG),
    "overloaded-with-wait": Rejection(status=503, code=None, headers=LONG, seen=503),
    "key": Rejection("Invalid key.", None, 401, seen=502),
    "quota": Rejection("No quota.", "insufficient_quota", headers=LONG),
}


def reject_a(request: dict[str, Any]) -> Answer:
    if request["messages"][-1]["content"] == "A":
        return REJECTIONS[request["model"]].answer()
    return echo(request)


async def attack(a: Tenant, model: str) -> int:
    """Have the backend reject requests of A, some after and some beside each other; return the
    status of the first.
    """
    status, _ = await a.respond("A", model=model, store=False)
    await asyncio.gather(*(a.respond("A", model=model, store=False) for _ in range(9)))
    return status


async def test_rejections_of_one_tenant_pause_nothing_for_another(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.script = reject_a
    backend.models = [
        {"id": name, "object": "model", "created": 1, "owned_by": "test"} for name in REJECTIONS
    ]
    async with rivals(tmp_path, f"sqlite://{tmp_path}/antiphon.db", backend.url) as both:
        for model, rejection in REJECTIONS.items():
            assert await attack(both.a, model) == rejection.seen, model
            alongside = asyncio.create_task(attack(both.a, model))
            replies = await asyncio.gather(
                *(
                    both.b.respond(f"B {number}", model=model, store=False)
                    for number in range(REQUESTS)
                )
            )
            await alongside

            assert [status for status, _ in replies] == [200] * REQUESTS, model


async def test_a_limit_of_the_key_is_respected_once_two_tenants_have_met_it(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.script = lambda _: REJECTIONS["limited-with-wait"].answer()
    async with rivals(tmp_path, f"sqlite://{tmp_path}/antiphon.db", backend.url) as both:
        for _ in range(10):
            for tenant in (both.a, both.b):
                status, body = await tenant.respond("Hi", store=False)
                assert (status, body["error"]["code"]) == (429, "rate_limit_exceeded")

    assert len(backend.requests) == 2
