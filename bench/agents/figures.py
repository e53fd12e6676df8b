"""The figures of agents: what each scenario costs, and how the cost grows with items, tools and
megabytes.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from statistics import median

from bench.agents import tools
from bench.agents.history import LARGE_OUTPUT
from bench.agents.measure import MODEL, Taken, of_chat, of_scenario
from bench.agents.scenarios import (
    MB,
    SCENARIOS,
    Scenario,
    additional,
    conversation,
    encoded,
    first,
    hello,
    image,
    ways,
)
from bench.report import NGINX, OURS, Reading
from bench.server import RunningServer

PAIRS = 5
"""Measurements of a request with something and without it, one after the other."""

ONE = "CPU of one {} of {:,}, µs"
"""Of so many in a request."""

GROWTH = "CPU of one {}, largest growth, times"
"""How many times as much one of many takes as one of fewer, in the worst pair of sizes."""

ITEM = "item"
TOOL = "tool"
ADDITIONAL = "additional tool"
MEGABYTE = "MB of an image"

GROWN = {
    ITEM: (100, 400, 1_600),
    TOOL: (10, 100, tools.MOST),
    ADDITIONAL: (10, 100, 1_000),
    MEGABYTE: (1, 5, 20),
}
"""The sizes that are compared. The API takes 128 tools at most in `tools`; inside the input, in an
item of type `additional_tools`, their number has no limit.
"""


def costs(
    ours: RunningServer, backend: RunningServer, nginx: RunningServer | None, seconds: float
) -> Iterator[Reading]:
    """Each scenario in each way; nginx passes on a chat request of the same size.

    An agent sends one request after the other, so each also pays for the waking of a server that
    was idle.
    """
    for way in ways():
        scenario = SCENARIOS[way.scenario]()
        figure = f"agent, {way.name}"
        taken = of_scenario(ours, scenario, seconds, stream=way.stream, store=way.store)
        yield f"{figure}, CPU ms", OURS, taken.cpu * 1e3
        if not way.store:
            yield from _alongside(
                figure, scenario, taken, backend, nginx, seconds / 2, stream=way.stream
            )
    yield "plain, one tool, times no tool", OURS, _times(ours, seconds, stream=False)
    yield (
        "stream of 256 deltas, one tool, CPU, times no tool",
        OURS,
        _times(ours, seconds, stream=True),
    )


def _times(ours: RunningServer, seconds: float, *, stream: bool) -> float:
    """Return how many times as much a request takes with one tool, in the median of pairs: one busy
    moment is in both of a pair, or in few pairs.
    """
    pairs = [
        [
            of_scenario(ours, SCENARIOS[name](), seconds / PAIRS, stream=stream).cpu
            for name in ("one tool", "no tool")
        ]
        for _ in range(PAIRS)
    ]
    return median(one / none for one, none in pairs)


def _alongside(
    figure: str,
    scenario: Scenario,
    ours: Taken,
    backend: RunningServer,
    nginx: RunningServer | None,
    seconds: float,
    *,
    stream: bool,
) -> Iterator[Reading]:
    """What nginx takes of the same bytes, and how much later than the backend's own the first byte
    comes.
    """
    size = len(encoded(scenario.body, model=MODEL, stream=stream, store=False))
    theirs = of_chat(nginx, size, seconds, stream=stream) if nginx else None
    if theirs:
        yield f"{figure}, CPU ms", NGINX, theirs.cpu * 1e3
    if stream:
        direct = of_chat(backend, size, seconds, stream=stream).first
        yield f"{figure}, first byte later by, ms", OURS, (ours.first - direct) * 1e3
        if theirs:
            yield f"{figure}, first byte later by, ms", NGINX, (theirs.first - direct) * 1e3


def growth(ours: RunningServer, seconds: float) -> Iterator[Reading]:
    """What one item, tool or megabyte takes of a plain request."""
    for name, size, cost in each(ours, seconds):
        yield ONE.format(name, size), OURS, cost * 1e6


def grown(figures: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return how much that grows with their number, from the medians: the worst pair of single
    rounds shows noise.
    """
    sizes = {name: {size: ONE.format(name, size) for size in GROWN[name]} for name in GROWN}
    return {
        GROWTH.format(name): {
            OURS: largest_growth({size: figures[one][OURS] for size, one in named.items()})
        }
        for name, named in sizes.items()
        if figures.keys() >= set(named.values())
    }


def each(ours: RunningServer, seconds: float) -> Iterator[tuple[str, int, float]]:
    """Give the seconds that one of many takes: what it is, of how many, beside the same request
    with none of them.

    It is the median of pairs, measured one after the other: ten tools take less than the machine
    changes in a minute.
    """
    opening = len(first().body["input"])
    scenarios: dict[str, Callable[[int], Scenario]] = {
        ITEM: lambda count: conversation(count, LARGE_OUTPUT),
        TOOL: lambda count: hello(tools.functions(count)),
        ADDITIONAL: additional,
        MEGABYTE: lambda count: image(count * MB),
    }
    for name, of in scenarios.items():
        base, less = (first(), opening) if name == ITEM else (hello(), 0)
        for count in GROWN[name]:
            both = of(count), base
            pairs = [[_cpu(ours, one, seconds / PAIRS) for one in both] for _ in range(PAIRS)]
            yield name, count, median(many - none for many, none in pairs) / (count - less)


def largest_growth(costs: Mapping[int, float]) -> float:
    """Return how many times as much one of many takes as one of fewer, in the worst pair; the costs
    are by size.
    """
    return max(costs[many] / costs[few] for few, many in combinations(sorted(costs), 2))


def _cpu(server: RunningServer, scenario: Scenario, seconds: float) -> float:
    return of_scenario(server, scenario, seconds, stream=False).cpu
