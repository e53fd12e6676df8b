"""Whose clock is right among the servers of one file: a simulation of servers that look every two
seconds.
"""

from dataclasses import dataclass, field

import pytest

from antiphon.storage.sqlite.clock import ALONE, ClockMarks, ClockVerdict

DAY = 86_400.0
EPOCH = 1_700_000_000.0


@dataclass
class File:
    """The row that the servers share."""

    mark: tuple[float, str] = (0.0, "")
    requested: int = 0


@dataclass
class Server:
    """One server: `ahead` is how far its clock is ahead, `booted` what its other clock shows at the
    beginning.
    """

    file: File
    name: str
    ahead: float = 0.0
    booted: float = 5_000.0
    is_blocked: bool = False
    verdicts: list[ClockVerdict] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.marks = ClockMarks(self.name)

    def poll_once(self, at: float) -> None:
        if self.is_blocked:
            return
        now = EPOCH + at + self.ahead
        verdict = self.marks.judge(self.file.mark, self.file.requested, now, self.booted + at)
        if verdict.writes:
            self.file.mark = (now, self.name)
        if verdict.requests_time:
            self.file.requested += 1
        self.verdicts.append(verdict)

    @property
    def skew(self) -> float | None:
        return self.verdicts[-1].skew

    def may_have_purged(self) -> bool:
        return any(one.skew is not None and abs(one.skew) <= 60 for one in self.verdicts)


def run(servers: list[Server], begin: float, seconds: float) -> None:
    for step in range(int(seconds / 2)):
        for number, server in enumerate(servers):
            server.poll_once(begin + 2 * step + 0.3 * number)


def test_the_first_server_of_a_file_is_right() -> None:
    server = Server(File(), "a")
    server.poll_once(0)
    assert server.verdicts == [ClockVerdict(0.0, writes=True)]


@pytest.mark.parametrize("ahead", [40 * DAY, 120.0, -40 * DAY, -120.0, 62.5])
def test_a_server_that_joins_with_a_wrong_clock_knows_and_deletes_nothing(ahead: float) -> None:
    file = File()
    good = Server(file, "good")
    late = Server(file, "late", ahead)
    run([good], 0, 200)
    run([good, late], 200, 600)

    assert late.skew == pytest.approx(ahead, abs=3)
    assert {verdict.skew for verdict in late.verdicts[4:]} != {None}
    assert not late.may_have_purged()
    assert not any(verdict.writes for verdict in late.verdicts)
    assert good.skew == pytest.approx(0, abs=1)
    assert all(verdict.skew is not None and abs(verdict.skew) < 1 for verdict in good.verdicts)


def test_it_is_known_within_seconds() -> None:
    file = File()
    good = Server(file, "good")
    late = Server(file, "late", 40 * DAY)
    run([good], 0, 200)
    run([good, late], 200, 10)
    assert late.skew == pytest.approx(40 * DAY, abs=3)


def test_many_servers_with_right_clocks_agree_all_the_time() -> None:
    file = File()
    servers = [
        Server(file, f"s{number}", 0.4 * number, booted=77.0 * number) for number in range(5)
    ]
    run(servers, 0, 1000)
    assert all(
        one.skew is not None and abs(one.skew) < 5 for server in servers for one in server.verdicts
    )
    assert sum(verdict.writes for server in servers for verdict in server.verdicts) < 5 * 20


def test_servers_with_one_clock_measure_no_difference_from_a_time_that_was_just_written() -> None:
    file = File()
    servers = [Server(file, f"s{number}", booted=77.0 * number) for number in range(3)]
    run(servers, 0, 1000)
    assert {one.skew for server in servers for one in server.verdicts} == {0.0}


def test_after_a_long_rest_a_server_that_is_alone_is_right_soon() -> None:
    file = File()
    run([Server(file, "before")], 0, 100)
    server = Server(file, "after")
    run([server], 3 * DAY, 2 * ALONE)

    assert server.verdicts[0].skew is None
    assert server.skew == 0
    assert sum(verdict.skew is None for verdict in server.verdicts) <= ALONE / 2 + 1


def test_a_server_that_is_started_again_soon_need_not_wait() -> None:
    file = File()
    run([Server(file, "before")], 0, 100)
    server = Server(file, "after")
    server.poll_once(110)
    assert server.skew is not None
    assert abs(server.skew) <= 60


def test_a_clock_set_forward_an_hour_is_detected_and_trusted_if_no_worker_disagrees() -> None:
    file = File()
    server = Server(file, "a")
    run([server], 0, 100)
    server.ahead = 3600
    run([server], 100, 10)
    assert server.skew is None
    run([server], 110, 2 * ALONE)
    assert server.skew == 0


def test_a_clock_that_is_set_while_another_server_runs_is_wrong() -> None:
    file = File()
    good = Server(file, "good")
    bad = Server(file, "bad")
    run([good, bad], 0, 200)
    bad.ahead = 3600
    run([good, bad], 200, 300)
    assert bad.skew == pytest.approx(3600, abs=5)
    assert good.skew == pytest.approx(0, abs=1)
    bad.ahead = 0
    run([good, bad], 500, 30)
    assert bad.skew == pytest.approx(0, abs=5)
