"""Reports which requirements of the Responses API and Chat Completions a server meets, whatever
server it is.

`antiphon-verify` is the command. `check_event_stream` returns what is wrong in a stream of
Responses events, `assert_event_stream` raises if anything is wrong, `fold` rebuilds the response
from it, and `RULES` are the rules.

    requirement.py          a requirement as a row (id, level, source, one sentence, a fault), and the verdict on one
    areas/                  a file or folder for each area: cases, each with the rows of the requirements it judges
    replies/                the good replies and the faults of the rows, a file for each area
    events/                 the rules of an event stream, each with its fault, and the check
    soundness.py            the rules of an event stream as requirements
    refusal.py              how a server rejects a request, and how it reports that it lacks a feature
    simpler.py              whether a rejection means that a feature is missing: decided by a simpler request
    prerequisites.py        what must pass before a requirement can be judged
    place.py                the field or event that decided a verdict
    case.py, trial.py       cases: generators that send and judge, and never wait
    exchange.py, reading.py what a server sent, read in a way that never raises
    judging.py, run.py      one server judged; `http.py` performs the steps of the cases
    choice.py, traits.py   which areas a run covers, and how many requests a server can serve at once
    report.py               the report as data, and as JSON
    html/, markdown.py      the report and the comparison of servers as pages with pictures, and as Markdown
    comparison.py           reports compared, as data
    wording.py              the words that all renderers use
    profile.py, profiles/   known deviations of well-known servers
    address.py              the address and the key of the tested server
    cli/                    the command, and what it prints

The package shares no code with Antiphon, and works without it: it judges Antiphon like any other
server.
"""  # noqa: E501 - a table, a diagram or an example

from antiphon_verify.events.check import assert_event_stream, check_event_stream
from antiphon_verify.events.fold import fold
from antiphon_verify.events.rules import RULES, Level, Rule, Violation

__all__ = [
    "RULES",
    "Level",
    "Rule",
    "Violation",
    "assert_event_stream",
    "check_event_stream",
    "fold",
]
