"""The options of bubblewrap."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from antiphon.sandbox import arguments
from antiphon.sandbox.arguments import USERS, MachineUser, kernel_command, new_identity, options
from antiphon.sandbox.contract import MachineLimits
from antiphon.sandbox.environment import PythonEnvironment

ENVIRONMENT = PythonEnvironment(
    "/srv/env/bin/python", ["/srv/env"], [("/opt/python", "/usr/bin/python3")]
)
LIMITS = MachineLimits(memory=1000)
ROOT = MachineUser(is_root=True, user=2_000_000_000)
USER = MachineUser(is_root=False, user=0)


@pytest.mark.parametrize("identity", [ROOT, USER])
def test_every_place_that_can_be_written_has_a_size(identity: MachineUser) -> None:
    words = options(ENVIRONMENT, LIMITS, identity)
    places = [
        (words[place - 2 : place], words[place + 1])
        for place, word in enumerate(words)
        if word == "--tmpfs"
    ]
    assert [where for _, where in places] == ["/dev", "/dev/shm", "/tmp", "/mnt/data"]
    assert all(size[0] == "--size" for size, where in places if where != "/dev")
    assert [after for word, after in pairwise(words) if word == "--remount-ro"] == [
        "/dev",
        "/proc",
        "/",
    ]
    assert "--bind" not in words
    assert {"--die-with-parent", "--clearenv", "--unshare-net", "--unshare-pid"} <= set(words)


def test_an_unprivileged_server_uses_a_user_namespace_and_root_becomes_a_user() -> None:
    assert {"--unshare-user", "--disable-userns"} <= set(options(ENVIRONMENT, LIMITS, USER))
    assert "--unshare-user" not in options(ENVIRONMENT, LIMITS, ROOT)
    assert kernel_command(ENVIRONMENT, LIMITS, ROOT)[:3] == ["setpriv", "--reuid", "2000000000"]
    assert kernel_command(ENVIRONMENT, LIMITS, USER)[0] == "/srv/env/bin/python"


def test_every_machine_of_root_has_a_user_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(Path, "read_text", lambda path: "         0          0 4294967295\n")
    users = {new_identity().user for _ in range(100)}
    assert len(users) > 90
    assert all(USERS[0] <= user <= USERS[1] for user in users)
    monkeypatch.setattr(
        Path, "read_text", lambda path: "0 1000 1\n1 100000 65536\n"
    )  # in a container
    assert all(32768 < new_identity().user <= 65536 for _ in range(100))


def test_a_server_that_is_not_root_keeps_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments.os, "geteuid", lambda: 1000)
    assert new_identity() == MachineUser(is_root=False, user=0)
