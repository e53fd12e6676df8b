"""Remedies for machines that do not start."""

import os
from dataclasses import dataclass
from pathlib import Path

from antiphon.sandbox.seccomp import MACHINES

RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))

MISSING = (
    "bubblewrap is not installed. Install it: apt-get install bubblewrap (Debian, Ubuntu), "
    "dnf install bubblewrap."
)
PROCESSOR = f"bubblewrap machines need one of these processor types: {', '.join(MACHINES)}."
NO_SETPRIV = "A server that runs as root needs `setpriv`. Install it: apt-get install util-linux."
OLD = "This version of bubblewrap is too old. Install version 0.8 or newer."
IN_CONTAINER = (
    "The server runs in a container, and the container's profile forbids new namespaces "
    "and mounts. Run the container as an unprivileged user with `--security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined`, "
    "or set `code_sandbox` to `e2b`."
)
APPARMOR = (
    "AppArmor forbids user namespaces on this host (Ubuntu 24.04 and newer). Allow them for bwrap: "
    "write the profile `/etc/apparmor.d/bwrap` with `abi <abi/4.0>, profile bwrap /usr/bin/bwrap "
    "flags=(unconfined) { userns, }`, then run `systemctl reload apparmor`."
)
IN_UNIT = (
    "The server is a systemd unit that forbids namespaces and mounts. Allow them: `systemctl "
    "edit antiphon` with `[Service]`, `RestrictNamespaces=false`, `ProtectKernelTunables=false`, "
    "`ProtectKernelLogs=false`, `ProtectProc=default` and `SystemCallFilter=@mount @privileged`."
)
NAMESPACES = (
    "This host forbids user namespaces to unprivileged users. Allow them: "
    "`sysctl -w user.max_user_namespaces=10000`, on old kernels of Debian also "
    "`sysctl -w kernel.unprivileged_userns_clone=1`."
)
ELSE = (
    "Run `bwrap --unshare-all --ro-bind / / true` as the server's user to see whether bubblewrap "
    "works at all."
)


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The relevant facts about the host."""

    is_container: bool
    restricts: bool
    """AppArmor restricts user namespaces."""
    is_unit: bool = False
    """systemd started the server."""

    @classmethod
    def read(cls) -> "HostFacts":
        """Return the facts of this host. Blocks for a moment."""
        try:
            restricts = RESTRICTED.read_text().strip() == "1"
        except OSError:
            restricts = False
        return cls(
            any(path.exists() for path in CONTAINER), restricts, "INVOCATION_ID" in os.environ
        )


def explained(message: str, host: HostFacts) -> str:
    """Return why no machine starts, and the remedy.

    `message` is the output of bubblewrap, or of the kernel program.
    """
    return f"Cannot start a machine: {message or 'no message'}. {_cure(message, host)}"


def _cure(message: str, host: HostFacts) -> str:
    if "setpriv" in message:
        return NO_SETPRIV
    if "Unknown option" in message or "not recognized" in message:
        return OLD
    denied = any(word in message for word in ("ermission", "not permitted", "namespace", "uid map"))
    if denied and host.is_container:
        return IN_CONTAINER
    if denied and host.restricts:
        return APPARMOR
    if denied and host.is_unit:
        return IN_UNIT
    return NAMESPACES if denied else ELSE
