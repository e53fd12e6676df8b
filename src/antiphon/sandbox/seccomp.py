"""The system calls that code in a machine cannot make, as a filter program that the Linux kernel
runs for each call.

Everything else is allowed: scientific packages need hundreds of calls. The filter excludes the
kernel's least tested parts, other processes, mounts and namespaces, and memory that belongs to no
process.
"""

import errno
import platform
import struct
from collections.abc import Iterator

DENIED: dict[str, tuple[int | None, int | None]] = {
    # Large parts of the kernel with a history of vulnerabilities.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "lookup_dcookie": (212, 18),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "nfsservctl": (180, 42),
    # Other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    # Namespaces and mounts.
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    # The kernel and the hardware of the host.
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "create_module": (174, None),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "query_module": (178, None),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "adjtimex": (159, 171),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "iopl": (172, None),
    "ioperm": (173, None),
    "vhangup": (153, 58),
    # Memory that is not counted for any process.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
}
"""Their numbers on x86_64 and aarch64."""

UNCOUNTED: dict[str, tuple[int | None, int | None]] = {
    # Memory of the kernel that neither a process nor a file system shows:
    # only a control group counts it.
    "socket": (41, 198),
    "socketpair": (53, 199),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "vmsplice": (278, 75),
    "landlock_create_ruleset": (444, 444),
    # A session is a scheduling group of its own, whatever the priority of its processes is.
    "setsid": (112, 157),
}
"""The calls that are denied in addition without a control group, which would count and limit what
they use.
"""

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The output of `uname -m`, its place in the table, and its AUDIT_ARCH."""
CLONE = (56, 220)
CLONE3 = (435, 435)
SOCKET = (41, 198)
IOCTL = (16, 29)
FCNTL = (72, 25)

NAMESPACES = 0x7E020000
"""Flags of clone(2) for new namespaces: mount, cgroup, uts, ipc, user, pid, network."""
FAMILIES = (1, 2, 10)
"""Kinds of sockets: unix, IPv4, IPv6. Others, such as vsock, are outside network namespaces."""
TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""
RESIZING = 1031
"""F_SETPIPE_SZ, which makes the buffer of a pipe larger than 64 KiB."""
X32 = 0x40000000
"""The bit of system calls of the x32 ABI, which have other numbers."""

LOAD = 0x20
EQUAL = 0x15
AT_LEAST = 0x35
HAS_BITS = 0x45
RETURN = 0x06
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24
"""Offsets in struct seccomp_data: the call's number, the architecture, and the lower halves of two
arguments.
"""
ALLOW = 0x7FFF0000
KILL = 0x80000000
REFUSE = 0x00050000

Instruction = tuple[int, int, int, int]


def program(machine: str = "", *, is_counted: bool = False) -> bytes:
    """Return the filter for `bwrap --seccomp`.

    Raises `KeyError` for a processor that is not in `MACHINES`.

    `is_counted`: a control group counts all memory of the machine.
    """
    column, architecture = MACHINES[machine or platform.machine()]
    return b"".join(
        struct.pack("=HBBI", *each) for each in _instructions(column, architecture, is_counted)
    )


def _instructions(column: int, architecture: int, is_counted: bool) -> Iterator[Instruction]:
    yield LOAD, 0, 0, ARCHITECTURE
    yield from _returned_if(EQUAL, architecture, KILL, is_met=False)
    yield LOAD, 0, 0, NUMBER
    if column == 0:
        yield from _returned_if(AT_LEAST, X32, REFUSE | errno.ENOSYS)
    for numbers in (DENIED if is_counted else DENIED | UNCOUNTED).values():
        number = numbers[column]
        if number is not None:
            yield from _returned_if(EQUAL, number, REFUSE | errno.EPERM)
    # Its flags are in memory, which a filter cannot read. Without it the C library calls clone.
    yield from _returned_if(EQUAL, CLONE3[column], REFUSE | errno.ENOSYS)
    bits = list(_returned_if(HAS_BITS, NAMESPACES, REFUSE | errno.EPERM))
    yield from _arguments(CLONE[column], FIRST, bits, ALLOW)
    if not is_counted:
        yield from _arguments(
            FCNTL[column], SECOND, list(_returned_if(EQUAL, RESIZING, REFUSE | errno.EPERM)), ALLOW
        )
    families = [each for family in FAMILIES for each in _returned_if(EQUAL, family, ALLOW)]
    yield from _arguments(SOCKET[column], FIRST, families, REFUSE | errno.EAFNOSUPPORT)
    typing = [
        each for request in TERMINAL for each in _returned_if(EQUAL, request, REFUSE | errno.EPERM)
    ]
    yield from _arguments(IOCTL[column], SECOND, typing, ALLOW)
    yield RETURN, 0, 0, ALLOW


def _returned_if(
    comparison: int, value: int, result: int, *, is_met: bool = True
) -> Iterator[Instruction]:
    """Return the result if the comparison is true, or false; else continue."""
    yield (comparison, 0, 1, value) if is_met else (comparison, 1, 0, value)
    yield RETURN, 0, 0, result


def _arguments(
    number: int, argument: int, checks: list[Instruction], otherwise: int
) -> Iterator[Instruction]:
    """Check an argument of one system call; these instructions always return a result."""
    yield EQUAL, 0, len(checks) + 2, number
    yield LOAD, 0, 0, argument
    yield from checks
    yield RETURN, 0, 0, otherwise
