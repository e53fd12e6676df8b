"""Token counts."""

from typing import Any

from antiphon_verify.case import case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.reading import at, is_integer, preview
from antiphon_verify.replies import streams
from antiphon_verify.replies.bodies import USAGE
from antiphon_verify.replies.responses import usage as replies
from antiphon_verify.replies.responses.usage import COUNTS
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.soundness import ENDS
from antiphon_verify.trial import Steps, Trial


def is_counted(usage: Any) -> bool:
    """Whether the three token counts are present."""
    return all(is_integer(at(usage, key)) for key in COUNTS)


@case(
    must(
        "responses:usage:counts",
        "client llama-index",
        "`usage` counts input, output and total tokens as integers.",
        fault=[replies.GOOD.patched("usage", to=None)],
    ),
    must(
        "responses:usage:total",
        "spec 3",
        "Total tokens are the sum of input and output tokens.",
        fault=[replies.GOOD.patched("usage", "total_tokens", to=99)],
    ),
    should(
        "responses:usage:input-details",
        "spec 3",
        "`input_tokens_details.cached_tokens` is an integer.",
        fault=[replies.GOOD.without("usage", "input_tokens_details")],
    ),
    should(
        "responses:usage:output-details",
        "spec 3",
        "`output_tokens_details.reasoning_tokens` is an integer.",
        fault=[replies.GOOD.without("usage", "output_tokens_details")],
    ),
    should(
        "responses:usage:counted",
        "issue agents#2126",
        "The counts of input and output tokens are above 0.",
        fault=[replies.GOOD.patched("usage", to=USAGE | replies.ZEROS)],
    ),
    should(
        "responses:usage:plausible",
        "spec 3",
        "A question of three words uses fewer than 10,000 input tokens.",
        fault=[replies.GOOD.patched("usage", "input_tokens", to=1_000_000)],
    ),
    good=[replies.GOOD],
)
def tokens_are_counted(trial: Trial) -> Steps:
    """Send a short prompt."""
    usage = at(trial.response((yield from trial.respond("Please say hello."))), "usage")
    if not trial.expect("responses:usage:counts", is_counted(usage), preview(usage)):
        raise Stop("skipped", "The response has no usage.")
    read, written, total = (usage[key] for key in COUNTS)
    trial.expect("responses:usage:total", read + written == total, preview(usage))
    trial.expect("responses:usage:counted", read > 0 and written > 0, preview(usage))
    trial.expect("responses:usage:plausible", read < 10_000, preview(usage))
    for name, detail in (("input", "cached_tokens"), ("output", "reasoning_tokens")):
        count = at(usage, f"{name}_tokens_details", detail)
        trial.expect(f"responses:usage:{name}-details", is_integer(count), preview(usage))


@case(
    should(
        "responses:usage:grows",
        "spec 3",
        "A longer input uses more tokens than a shorter one.",
        fault=[replies.GOOD, replies.GOOD],
    ),
    good=[replies.GOOD, replies.LONGER],
)
def more_input_counts_more(trial: Trial) -> Steps:
    """Send a short prompt, and the same with many words."""
    short = trial.response((yield from trial.respond("Please say hello.")))
    long = trial.response(
        (yield from trial.respond(f"Please say hello. Leave these words alone: {'tea cup ' * 50}"))
    )
    counts = [at(one, "usage", "input_tokens") for one in (short, long)]
    if all(map(is_integer, counts)):
        trial.expect(
            "responses:usage:grows", counts[0] < counts[1], f"{counts[0]}, then {counts[1]}"
        )


@case(
    must(
        "responses:usage:streamed",
        "issue agents#1179",
        "The last event of a stream has usage like a non-streamed response.",
        fault=[streams(replies.NULL)],
    ),
    good=[streams(STREAMS["answer"])],
)
def tokens_are_counted_in_streams(trial: Trial) -> Steps:
    """Stream a response to a short prompt."""
    last = trial.streamed((yield from trial.respond("Please say hello.", stream=True)))[-1]
    if last.get("type") in ENDS[:2]:
        usage = at(last, "response", "usage")
        trial.expect("responses:usage:streamed", is_counted(usage), preview(usage))
