"""The counters of a backend do not drift, whatever way its requests end: played from the gateway to
the backend.
"""

import asyncio
import json
from contextlib import aclosing
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import AntiphonError
from antiphon.gateway.parts import Parts
from antiphon.upstream.options import BackendOptions
from tests.support.chance import examples
from tests.support.parts import begin, called, plain, scripted_parts, stated
from tests.support.waiting import let_others_run

REFUSED = json.dumps({"error": {"message": "Unsupported parameter: 'top_p'.", "param": "top_p"}})

ANSWERS: dict[str, Any] = {
    "text": stated("Hello ", "there"),
    "plain": plain(),
    "call": called(),
    "nothing": [],
    "error": [{"error": {"message": "CUDA"}}],
    "garbage": [{"choices": 7}],
    "refusal of a parameter": (400, REFUSED),
    "overload": (503, "no"),
    "limit": (429, "{}"),
}

requests = st.tuples(
    st.sampled_from([*ANSWERS]),
    st.booleans(),
    st.sampled_from(["to the end", "left", "cancelled"]),
    st.integers(0, 12),
)


async def request(parts: Parts, stream: bool, leaves_after: int | None) -> None:
    """One request; who leaves closes its stream after so many batches."""
    try:
        run = await begin(parts, stream=stream, top_p=0.5)
        async with aclosing(run.events()) as batches:
            seen = 0
            async for _ in batches:
                seen += 1
                if leaves_after is not None and seen > leaves_after:
                    return
    except AntiphonError:
        pass


@examples(60)
@given(st.lists(requests, min_size=1, max_size=8), st.integers(0, 3), st.integers(0, 3))
def test_whatever_way_requests_end_no_slot_is_lost(
    script: list[tuple[str, bool, str, int]], concurrency: int, queue: int
) -> None:
    async def play() -> None:
        created, _ = scripted_parts(*(ANSWERS[kind] for kind, *_ in script for _ in range(3)))
        (backend,) = created.models.backends
        backend.update(options=BackendOptions(concurrency=concurrency, queue=queue))
        tasks: list[asyncio.Task[None]] = []
        for _, stream, end, when in script:
            tasks.append(
                asyncio.create_task(request(created, stream, when if end == "left" else None))
            )
            await let_others_run(when if end == "cancelled" else 1)
            if end == "cancelled":
                tasks[-1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await created.store.close()

        assert (backend.slots.in_use, backend.slots.waiting) == (0, 0)
        assert not backend.slots.tenants
        assert not created.process.runs

    asyncio.run(play())
