"""Machines between calls: which are kept, and which are ended because they are idle, replaced or in
the way.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.sandbox.contract import SandboxError
from antiphon.storage.records.containers import ContainerQuota, StoredContainer
from antiphon.tools.code import kernels
from antiphon.tools.code.kernels import ContainerKernel, Kernels
from tests.support.containers import MemoryContainers
from tests.support.fake_machines import FakeSandbox

QUOTA = ContainerQuota(10, 100, 1000)


class Bench:
    """Kernels with a clock that a test moves; `wanted` are the containers that calls wait for."""

    def __init__(self, **limits: Any) -> None:
        self.store, self.sandbox = MemoryContainers(), FakeSandbox()
        self.now = 0.0
        self.wanted: set[str] = set()
        values = {"per_tenant": 10, "memory_max": "4g", "quota": QUOTA, **limits}
        self.kernels = Kernels(
            self.sandbox,
            self.store,
            **values,
            is_wanted=self.wanted.__contains__,
            clock=lambda: self.now,
        )

    async def call(self, name: str, tenant: str = "") -> ContainerKernel:
        """One whole call in a container."""
        container = StoredContainer(
            f"cntr_{name}", tenant, name, 1, 1, idle_minutes=20, memory_limit="16g"
        )
        await self.store.put_container(container, (), QUOTA)
        before = await self.store.hold_container(tenant, container.id, "hold_1", "worker_1", 10)
        await self.store.end_hold(tenant, container.id, "hold_1")
        assert before is not None
        self.kernels.note_call(before)
        kernel = self.kernels.find(before) or await self.kernels.start(before)
        self.kernels.rest(kernel)
        return kernel


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_the_memory_of_a_machine_is_that_of_its_container_up_to_the_setting(
    bench: Bench,
) -> None:
    await bench.call("a")
    (machine,) = bench.sandbox.machines

    assert (machine.limits.memory, machine.limits.files) == (4 * 1024**3, 100)
    assert machine.limits.file_size == 1000 < machine.limits.disk
    await bench.kernels.close()


async def test_a_machine_is_ended_once_it_is_idle_for_as_long_as_its_container_may_be(
    bench: Bench,
) -> None:
    first = await bench.call("a")
    bench.now = 1199.0
    await bench.kernels.poll_once()
    assert await bench.call("a") is first

    bench.now += 1200.0
    await bench.kernels.poll_once()

    assert bench.kernels.live == 0 and not bench.sandbox.alive
    await bench.kernels.close()


@pytest.mark.parametrize("fate", ["deleted", "expired", "used elsewhere", "broken"])
async def test_a_machine_of_a_released_container_is_stopped(bench: Bench, fate: str) -> None:
    await bench.call("a")
    await bench.call("b")
    container = bench.store.containers["cntr_a"]
    if fate == "deleted":
        await bench.store.delete_container("", "cntr_a")
    elif fate == "expired":
        bench.store.containers["cntr_a"] = replace(container, status="expired")
    elif fate == "broken":
        bench.sandbox.machines[0].is_alive = False
    else:
        bench.store.containers["cntr_a"] = replace(container, calls=container.calls + 1)

    await bench.kernels.poll_once()

    assert [one.is_closed for one in bench.sandbox.machines] == [True, False]
    await bench.kernels.close()


async def test_a_machine_that_a_call_waits_for_is_not_idle(bench: Bench) -> None:
    await bench.call("a")
    bench.wanted.add("cntr_a")
    bench.now = 5000.0
    await bench.kernels.poll_once()

    assert bench.kernels.live == 1
    await bench.kernels.close()


async def test_space_is_freed_first_where_no_call_waits() -> None:
    bench = Bench(per_tenant=2)
    await bench.call("a")
    bench.now = 1.0
    await bench.call("b")
    bench.wanted.add("cntr_a")
    await bench.call("c")

    assert [one.is_closed for one in bench.sandbox.machines] == [False, True, False]
    await bench.kernels.close()


async def test_all_tenants_together_have_so_many_machines(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "MOST_KERNELS", 2)
    for n in range(3):
        bench.now += 1
        await bench.call(f"of_{n}", f"tenant{n}")

    assert [one.is_closed for one in bench.sandbox.machines] == [True, False, False]
    await bench.kernels.close()


async def test_a_container_of_another_tenant_never_finds_the_machine(bench: Bench) -> None:
    kernel = await bench.call("a", "mine")
    container = bench.store.containers["cntr_a"]

    assert bench.kernels.find(replace(container, tenant="other", calls=kernel.calls - 1)) is None
    await bench.kernels.close()


async def test_no_machine_starts_after_the_end(bench: Bench) -> None:
    await bench.kernels.close()
    with pytest.raises(SandboxError, match="shutting down"):
        await bench.call("a")
