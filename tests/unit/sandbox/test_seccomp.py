"""The filter, run by a machine for its four kinds of instructions."""

import errno
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.sandbox import seccomp
from antiphon.sandbox.seccomp import ALLOW, DENIED, KILL, MACHINES, REFUSE, UNCOUNTED, program

LENGTH = struct.calcsize("=HBBI")
MOST = 4096
"""Instructions that the kernel accepts."""


def verdict(
    machine: str,
    number: int,
    arguments: Sequence[int] = (),
    architecture: int | None = None,
    *,
    is_counted: bool = True,
) -> int:
    """What the kernel does about a call."""
    code = list(struct.iter_unpack("=HBBI", program(machine, is_counted=is_counted)))
    data = struct.pack(
        "=IIQ6Q",
        number,
        architecture or MACHINES[machine][1],
        0,
        *arguments,
        *[0] * (6 - len(arguments)),
    )
    place = 0
    value = 0
    while True:
        operation, met, unmet, operand = code[place]
        if operation == seccomp.RETURN:
            return int(operand)
        if operation == seccomp.LOAD:
            (value,) = struct.unpack_from("=I", data, operand)
            place += 1
            continue
        is_met = {
            seccomp.EQUAL: value == operand,
            seccomp.AT_LEAST: value >= operand,
            seccomp.HAS_BITS: bool(value & operand),
        }[operation]
        place += 1 + (met if is_met else unmet)


@pytest.mark.parametrize("machine", MACHINES)
def test_denied_calls_are_refused_on_every_processor(machine: str) -> None:
    numbers = [pair[MACHINES[machine][0]] for pair in DENIED.values()]
    assert {verdict(machine, number) for number in numbers if number is not None} == {
        REFUSE | errno.EPERM
    }


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_that_use_uncounted_memory_are_refused_without_a_control_group(machine: str) -> None:
    column = MACHINES[machine][0]
    for pair in UNCOUNTED.values():
        number = pair[column]
        if number is not None:
            assert verdict(machine, number, [1], is_counted=False) == REFUSE | errno.EPERM
            assert verdict(machine, number, [1]) == ALLOW
    fcntl = seccomp.FCNTL[column]
    assert verdict(machine, fcntl, [3, seccomp.RESIZING], is_counted=False) == REFUSE | errno.EPERM
    assert (
        verdict(machine, fcntl, [3, 6], is_counted=False)
        == verdict(machine, fcntl, [3, seccomp.RESIZING])
        == ALLOW
    )


@pytest.mark.parametrize("machine", MACHINES)
@given(number=st.integers(0, 600))
def test_other_calls_are_allowed(machine: str, number: int) -> None:
    column = MACHINES[machine][0]
    special = {pair[column] for pair in (seccomp.CLONE3, seccomp.SOCKET, *DENIED.values())}
    if number not in special:
        assert verdict(machine, number) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_decide_about_namespaces_sockets_and_terminals(machine: str) -> None:
    column = MACHINES[machine][0]
    clone = seccomp.CLONE[column]
    socket = seccomp.SOCKET[column]
    ioctl = seccomp.IOCTL[column]
    assert verdict(machine, clone, [17]) == ALLOW
    assert verdict(machine, clone, [0x3D0F00]) == ALLOW  # a thread
    for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, clone, [bit | 17]) == REFUSE | errno.EPERM
    assert verdict(machine, seccomp.CLONE3[column]) == REFUSE | errno.ENOSYS
    assert [
        verdict(machine, socket, [family]) == ALLOW for family in (1, 2, 10, 16, 17, 38, 40)
    ] == [True] * 3 + [False] * 4
    assert verdict(machine, ioctl, [0, 0x5401]) == ALLOW
    assert {verdict(machine, ioctl, [0, request]) for request in (0x5412, 0x541C)} == {
        REFUSE | errno.EPERM
    }


def test_calls_of_another_architecture_end_the_process() -> None:
    assert verdict("x86_64", 0, architecture=0x40000003) == KILL  # 32-bit
    assert verdict("x86_64", seccomp.X32 | 1) == REFUSE | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_the_kernel_accepts_the_length(machine: str) -> None:
    assert 0 < len(program(machine)) // LENGTH < MOST


def test_other_processors_have_no_filter() -> None:
    with pytest.raises(KeyError):
        program("riscv64")
