"""Every `tests/traces/*.trace`: what a backend sends above the rule, the exact events below it.

A trace says in its first line why the case exists. A line of options may follow (those of
`ChatStream`, `view`, and `plain` for an answer that is no stream), then one chunk a line. `python
-m tests.unit.translation.from_chat.test_traces --update` rewrites what is below the rules; then
read the diff.
"""

import json
import sys
from pathlib import Path
from typing import Any

from antiphon.testing import assert_event_stream, fold
from antiphon.translation.writer import View
from tests.support.cases import each
from tests.support.translate import Translation, bytewise, translate

TRACES = sorted((Path(__file__).parents[3] / "traces").glob("*.trace"))
RULE = "-" * 10 + "\n"
OPTIONS = "options "
REPORTED = ("status", "error", "incomplete_details", "output", "usage")
"""What a trace shows of a response, where it is set."""


def run(trace: str, cut: Any = lambda data: data) -> Translation:
    lines = [
        line for line in trace.partition(RULE)[0].splitlines() if line and not line.startswith("#")
    ]
    options = json.loads(lines.pop(0).removeprefix(OPTIONS)) if lines[0].startswith(OPTIONS) else {}
    options["view"] = View(**options.get("view", {}))
    if options.pop("plain", False):
        (answer,) = lines
        return translate(answer.encode(), is_json=True, **options)
    return translate(cut("".join(f"data: {line}\n\n" for line in lines).encode()), **options)


def render(event: dict[str, Any]) -> str:
    """One event, one line: the type, then what it carries."""
    fields = {name: value for name, value in event.items() if name != "type"}
    if "response" in fields:
        fields["response"] = {
            name: event["response"][name] for name in REPORTED if event["response"][name]
        }
    return f"{event['type']} {json.dumps(fields, ensure_ascii=False)}\n"


def update(path: Path) -> None:
    head = path.read_text().partition(RULE)[0]
    path.write_text(head + RULE + "".join(map(render, run(head).events)))


@each("path", TRACES, ids=lambda path: path.stem)
def test_a_trace_gives_exactly_its_events(path: Path) -> None:
    trace = path.read_text()
    assert "".join(map(render, run(trace).events)) == trace.partition(RULE)[2]


@each("path", TRACES, ids=lambda path: path.stem)
def test_a_trace_is_sound_and_folds_into_its_response(path: Path) -> None:
    events = run(path.read_text()).events
    assert_event_stream(events)
    assert fold(events) == events[-1]["response"]


@each("path", TRACES, ids=lambda path: path.stem)
def test_a_trace_is_the_same_one_byte_at_a_time(path: Path) -> None:
    trace = path.read_text()
    assert run(trace, bytewise).events == run(trace).events


def test_every_trace_states_its_purpose() -> None:
    assert TRACES
    assert [path.stem for path in TRACES if not path.read_text().startswith("# ")] == []


if __name__ == "__main__" and "--update" in sys.argv:
    for each in TRACES:
        update(each)
