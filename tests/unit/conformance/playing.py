"""Plays a case against replies that are written down."""

from antiphon_verify.case import Case, CaseRun
from antiphon_verify.exchange import Exchange, Pause, Request, Together
from antiphon_verify.replies import MODEL, Replies, Reply, error
from antiphon_verify.requirement import Verdict
from antiphon_verify.trial import ORDINARY, Traits

TOOLS_URL = "http://127.0.0.1:9"
"""Where nobody is: what the MCP server heard is written down like all answers."""


def play(case: Case, script: Replies, traits: Traits = ORDINARY) -> dict[str, Verdict]:
    """Play a case against a script; return its verdicts.

    Whoever asks for more than was written down gets a 500.
    """
    playing = CaseRun(case, MODEL, traits, tools_url=TOOLS_URL)
    replies = iter(script)

    def answer(request: Request) -> Exchange:
        reply = next(replies, error("The script ends here.", 500))
        return (reply if isinstance(reply, Reply) else reply(request)).to(request)

    playing.begin()
    while (step := playing.step) is not None:
        if isinstance(step, Pause):
            playing.answer(None)
        else:
            playing.answer(
                [answer(r) for r in step.requests] if isinstance(step, Together) else answer(step)
            )
    return playing.trial.verdicts
