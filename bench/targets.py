"""The performance targets, and which of them are met."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.agents.figures import GROWN, GROWTH
from bench.agents.scenarios import LARGEST
from bench.attacks.disk import FIGURE
from bench.attacks.memory import KINDS, figure
from bench.report import NGINX, OURS, TARGET, short, table

AT_LEAST = ">="
AT_MOST = "<="

TARGETS: dict[str, tuple[str, float]] = {
    "translation of a delta in a burst, µs": (AT_MOST, 5),
    "translation of a delta alone, µs": (AT_MOST, 5),
    "plain requests, 1/s": (AT_LEAST, 3500),
    "plain requests, CPU µs": (AT_MOST, 1e6 / 3500),
    "plain requests, stored in SQLite, 1/s": (AT_LEAST, 2000),
    "plain requests, stored in SQLite, CPU µs": (AT_MOST, 1e6 / 2000),
    "streams of 256 deltas in one burst, 1/s": (AT_LEAST, 800),
    "streams of 256 deltas in one burst, CPU µs": (AT_MOST, 1e6 / 800),
    "streams of 256 deltas in one burst, stored in SQLite, 1/s": (AT_LEAST, 600),
    "streams of 256 deltas in one burst, stored in SQLite, CPU µs": (AT_MOST, 1e6 / 600),
    "added latency at 50 requests/s, p50, ms": (AT_MOST, 1),
    "added latency at 50 requests/s, p99, ms": (AT_MOST, 2),
    "added latency at 50 requests/s beside streams, p99, ms": (AT_MOST, 2),
    "plain, one tool, times no tool": (AT_MOST, 1.15),
    "stream of 256 deltas, one tool, CPU, times no tool": (AT_MOST, 1.1),
    "agent, codex, streamed, CPU ms": (AT_MOST, 0.9),
    "agent, long, streamed, CPU ms": (AT_MOST, 9),
    "agent, long, streamed, first byte later by, ms": (AT_MOST, 11),
    "agent, long, later turn, streamed, CPU ms": (AT_MOST, 6),
    **{GROWTH.format(grown): (AT_MOST, 1.2) for grown in GROWN},
    **{f"loop blocked by {name}, ms": (AT_MOST, 20) for name in LARGEST},
    "loop blocked by 1,000 items, ms": (AT_MOST, 20),
    "loop blocked by 1,000 pairs of call and output, ms": (AT_MOST, 20),
    "turn 1,000 of a chain, times turn 10, SQLite": (AT_MOST, 3),
    "turn 1,000 of a chain, times turn 10, PostgreSQL": (AT_MOST, 3),
    "history of 1,000 turns, SQLite, ms": (AT_MOST, 30),
    "history of 1,000 turns, PostgreSQL, ms": (AT_MOST, 60),
    "1,000 readers at once, SQLite: served without a cut": (AT_LEAST, 1000),
    "1,000 readers at once, PostgreSQL: served without a cut": (AT_LEAST, 1000),
    **{
        f"first event of an agent, {store}, p50, ms": (AT_MOST, 60)
        for store in ("SQLite", "PostgreSQL")
    },
    "steps of an agent, SQLite: one response, times bare writes": (AT_LEAST, 0.5),
    "steps of an agent, SQLite: 32 responses, CPU µs": (AT_MOST, 150),
    "start to first answer, s": (AT_MOST, 0.5),
    "memory idle, MB": (AT_MOST, 60),
    "memory of an open stream, kB": (AT_MOST, 60),
    "facts of a response, made and written to SQLite, CPU µs": (AT_MOST, 40),
    **{
        f"ingestion of text, {store}, MB per CPU second": (AT_LEAST, 2)
        for store in ("SQLite", "PostgreSQL")
    },
    **{
        f"upload of 256 MB, {store}, MB per CPU second": (AT_LEAST, 100)
        for store in ("SQLite", "PostgreSQL")
    },
    **{
        f"memory that an upload of 256 MB adds, {store}, MB": (AT_MOST, 32)
        for store in ("SQLite", "PostgreSQL")
    },
    "machine, ready for code, s": (AT_MOST, 0.3),
    "machine, a call that does nothing, ms": (AT_MOST, 15),
    "machine, memory of each of 20 idle ones, MB": (AT_MOST, 25),
    "loop blocked by the start of machines, ms": (AT_MOST, 20),
    "50 open consoles at 200 responses/s, % of a core": (AT_MOST, 3),
    "facts and sums of a response, kept for 30 days, SQLite: bytes on disk": (AT_MOST, 700),
    "search of 100,000 chunks by keywords, CPU ms": (AT_MOST, 15),
    "search of 100,000 chunks by keywords and vectors, CPU ms": (AT_MOST, 50),
    "recall of the 10 nearest of 100,000 chunks": (AT_LEAST, 0.98),
    "text cut and indexed in SQLite, MB per CPU second": (AT_LEAST, 2),
    "first call of code in a new container, s": (AT_MOST, 0.3),
    "next call of code in a container, ms": (AT_MOST, 15),
    "1,000 calls of code in 50 containers: right answers": (AT_LEAST, 1000),
    **{
        f"{name}, {store}, p95, ms": (AT_MOST, bound)
        for store in ("SQLite", "PostgreSQL")
        for name, bound in (
            ("first page of 1,000,000 responses", 100),
            ("first page of one model of 1,000,000 responses", 100),
            ("first page of failures of 1,000,000 responses", 100),
            ("first page by two filters without an index of 1,000,000 responses", 250),
            ("two words of 1,000,000 responses", 250),
            ("figures of 30 days by model", 100),
            ("figures of 30 days by key", 100),
        )
    },
}
"""Of the figures. Rates are those of one core: on a busy machine the CPU beside them is the fairer
judge.
"""

ATTACKS: dict[str, tuple[str, float]] = {
    **{figure(kind): (AT_MOST, 64) for kind in KINDS},
    "median of B later, worst document in a vector store, ms": (AT_MOST, 50),
    "worst of B later, worst document in a vector store, ms": (AT_MOST, 250),
    # Half of the CPU is left for the server, whatever code does, so B may wait for twice its median
    # of 11 ms.
    "median of B later, code that spins in 58 processes, ms": (AT_MOST, 11),
    "worst of B later, code that spins in 58 processes, ms": (AT_MOST, 250),
    # Stopped processes take nothing: what remains is the noise of the machine.
    "median of B later, code that spun in 58 processes, ms": (AT_MOST, 5),
    "worst of B later, code that spun in 58 processes, ms": (AT_MOST, 250),
    FIGURE: (AT_MOST, 0),
}
"""Of the attacks of one tenant on another, on two quiet cores, as far as they were measured."""

FRACTIONS: dict[str, float] = {
    "plain requests, 1/s": 0.10,
    "streams of 256 deltas in one burst, 1/s": 0.13,
    "streams of 256 deltas in one burst of chunks, 1/s": 0.13,
}
"""The least fraction of nginx's figure, measured in the same run, that ours may be."""

Figures = Mapping[str, Mapping[str, float]]
"""The median of each figure, by its name and by whose it is."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure is to be, and what it is: None where it could not be measured."""

    name: str
    bound: str
    value: float
    measured: float | None

    @property
    def is_met(self) -> bool:
        """Return whether it was measured, and is as it should be."""
        if self.measured is None:
            return False
        return (
            self.measured >= self.value if self.bound == AT_LEAST else self.measured <= self.value
        )


def targets(figures: Figures) -> list[Target]:
    """Return all targets: fixed ones, fractions of nginx's figures, and those that follow from
    other figures.
    """
    return [*_fractions(figures), *_fixed(figures), *of_attacks(figures)]


def _fractions(figures: Figures) -> Iterator[Target]:
    for name, least in FRACTIONS.items():
        sides = figures.get(name, {})
        nginx = sides.get(NGINX)
        yield Target(
            f"{name}, as a fraction of nginx",
            AT_LEAST,
            least,
            sides[OURS] / nginx if nginx else None,
        )


def _fixed(figures: Figures) -> Iterator[Target]:
    for name, (bound, value) in TARGETS.items():
        yield Target(name, bound, value, figures.get(name, {}).get(OURS))


def of_attacks(figures: Figures) -> Iterator[Target]:
    """Return the targets of the attacks that were measured; some were measured beside their
    figures.
    """
    for name, (bound, value) in ATTACKS.items():
        if name in figures:
            yield Target(name, bound, value, figures[name].get(OURS))
    for name, sides in figures.items():
        if TARGET in sides:
            yield Target(name, AT_MOST, sides[TARGET], sides.get(OURS))


def verdicts(judged: Sequence[Target]) -> str:
    """Return the table of the targets."""
    missed = sum(not target.is_met for target in judged)
    rows = [
        (target.name, f"{target.bound} {short(target.value)}", _measured(target), _word(target))
        for target in judged
    ]
    summary = f"{len(judged) - missed} of {len(judged)} targets are met, {missed} are not."
    return f"{table([('target', '', 'measured', 'met?'), *rows])}\n{summary}"


def _measured(target: Target) -> str:
    return "not measured" if target.measured is None else short(target.measured)


def _word(target: Target) -> str:
    return "yes" if target.is_met else "NO"
