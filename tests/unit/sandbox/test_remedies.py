"""Every failure of bubblewrap names what helps."""

import pytest

from antiphon.sandbox import remedies
from antiphon.sandbox.remedies import HostFacts, explained

PLAIN = HostFacts(False, False)
CONTAINER = HostFacts(True, False)
UBUNTU = HostFacts(False, True)
UNIT = HostFacts(False, False, True)


@pytest.mark.parametrize(
    ("message", "host", "cure"),
    [
        (
            "bwrap: No permissions to create new namespace, likely because the kernel …",
            CONTAINER,
            remedies.IN_CONTAINER,
        ),
        (
            "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
            CONTAINER,
            remedies.IN_CONTAINER,
        ),
        (
            "bwrap: Creating new namespace failed: Operation not permitted",
            CONTAINER,
            remedies.IN_CONTAINER,
        ),
        ("bwrap: setting up uid map: Permission denied", UBUNTU, remedies.APPARMOR),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", UBUNTU, remedies.APPARMOR),
        ("bwrap: No permissions to create new namespace", PLAIN, remedies.NAMESPACES),
        ("bwrap: No permissions to create new namespace", UNIT, remedies.IN_UNIT),
        ("bwrap: Unknown option --disable-userns", CONTAINER, remedies.OLD),
        ("bwrap: execvp setpriv: No such file or directory", CONTAINER, remedies.NO_SETPRIV),
        ("Segmentation fault", CONTAINER, remedies.ELSE),
        ("", PLAIN, remedies.ELSE),
    ],
)
def test_the_cure_fits_the_message_and_the_host(message: str, host: HostFacts, cure: str) -> None:
    stated = explained(message, host)
    assert stated.endswith(cure)
    assert message in stated


def test_the_facts_of_this_host_can_be_read() -> None:
    assert isinstance(HostFacts.read(), HostFacts)
