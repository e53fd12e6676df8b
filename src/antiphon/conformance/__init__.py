"""The conformance suite: what of the two APIs does a server keep?

    requirement.py, requirements/   what is asked, as data: id, level, source, one sentence
    soundness.py, refusal.py        requirements made of other data: the rules of a stream, a table of bad requests
    case.py, trial.py, cases/       how it is found out: generators that ask and judge, and never wait
    exchange.py, sse.py, reading.py what came, read so that nothing a server sends can raise
    absence.py, verdict.py          failed, passed, skipped, and what a server says that it lacks
    judging.py, run.py, http.py     performing cases against a base URL
    manners.py                      how much a server can be asked at once, and the like
    gathering.py, choice.py         which areas there are, and which of them a run is about
    report.py, html.py, matrix.py   what is told of it
    page.py, markup.py              what the two pages have in common
    profile.py, profiles/           known deviations of well-known servers

It uses none of Antiphon's own reading or writing of the API, so that it judges Antiphon like any other.
"""
