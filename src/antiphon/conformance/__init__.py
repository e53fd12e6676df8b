"""The conformance suite reports which requirements of the two APIs a server meets.

    requirement.py          requirements as data (id, level, source, one sentence), and the verdict on one
    areas/                  a file or folder for each area: its requirements, and the cases that judge them
    soundness.py            the rules of an event stream as requirements
    refusal.py              a table of invalid requests, and how a server reports that it lacks a feature
    simpler.py              whether a rejection means that a feature is missing: decided by a simpler request
    prerequisites.py        what must pass before a requirement can be judged
    place.py                the field or event that decided a verdict
    case.py, trial.py       cases: generators that send and judge, and never wait
    exchange.py, reading.py what a server sent, read in a way that never raises
    judging.py, run.py      one server judged; `http.py` performs the steps of the cases
    choice.py, manners.py   which areas a run covers, and how many requests a server can serve at once
    report.py, html.py      the report as data and as a page; `matrix.py` compares servers
    markdown.py, graphic.py servers side by side as Markdown, a badge and a chart; `difference.py` compares two runs
    page.py                 what both pages share
    profile.py, profiles/   known deviations of well-known servers

The suite shares no code with Antiphon's own implementation of the API, so it judges Antiphon like any other server.
"""
