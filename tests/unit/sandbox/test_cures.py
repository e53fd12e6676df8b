"""Every failure of bubblewrap names what helps."""

import pytest

from antiphon.sandbox import cures
from antiphon.sandbox.cures import Host, explained

PLAIN, CONTAINER, UBUNTU, UNIT = Host(False, False), Host(True, False), Host(False, True), Host(False, False, True)


@pytest.mark.parametrize(
    ("message", "host", "cure"),
    [
        ("bwrap: No permissions to create new namespace, likely because the kernel …", CONTAINER, cures.IN_CONTAINER),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", CONTAINER, cures.IN_CONTAINER),
        ("bwrap: Creating new namespace failed: Operation not permitted", CONTAINER, cures.IN_CONTAINER),
        ("bwrap: setting up uid map: Permission denied", UBUNTU, cures.APPARMOR),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", UBUNTU, cures.APPARMOR),
        ("bwrap: No permissions to create new namespace", PLAIN, cures.NAMESPACES),
        ("bwrap: No permissions to create new namespace", UNIT, cures.IN_UNIT),
        ("bwrap: Unknown option --disable-userns", CONTAINER, cures.OLD),
        ("bwrap: execvp setpriv: No such file or directory", CONTAINER, cures.NO_SETPRIV),
        ("Segmentation fault", CONTAINER, cures.ELSE),
        ("", PLAIN, cures.ELSE),
    ],
)
def test_the_cure_fits_the_message_and_the_host(message: str, host: Host, cure: str) -> None:
    said = explained(message, host)
    assert said.endswith(cure)
    assert message in said


def test_the_facts_of_this_host_can_be_read() -> None:
    assert isinstance(Host.read(), Host)
