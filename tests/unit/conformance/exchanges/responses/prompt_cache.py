"""Prompt caches."""

from antiphon_verify.areas.responses import prompt_cache
from tests.unit.conformance.exchanges import Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

FULL = says(RESPONSE)

EMPTY = FULL.patched("output", to=[])

WARM = EMPTY.patched("usage", "output_tokens", to=0)

GONE = error("Previous response with id 'resp_1' not found.", 400, "previous_response_not_found")

QUEUED = says(RESPONSE | {"status": "queued", "background": True, "output": [], "usage": None, "completed_at": None})

STREAM = STREAMS["answer"]

EMPTY_STREAM = [STREAM[0], STREAM[1], STREAM[-1] | {"response": STREAM[-1]["response"] | {"output": []}}]

MISS = {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 3, "comparison_reusable_tokens": 0}

EXCHANGES: dict[str, Shown] = {
    **shown(
        prompt_cache.a_cache_is_filled,
        [WARM, FULL],
        {
            "responses:prompt-cache:prewarm": [FULL.patched("usage", "output_tokens", to=0), FULL],
            "responses:prompt-cache:usage": [EMPTY, FULL],
            "responses:prompt-cache:continued": [WARM, GONE],
        },
    ),
    **spoiled(prompt_cache.a_cache_is_filled_by_a_stream, [streams(EMPTY_STREAM)], [streams(STREAM)]),
    **spoiled(prompt_cache.a_cache_is_filled_in_the_background, [QUEUED, WARM], [QUEUED, FULL]),
    **shown(
        prompt_cache.two_prompts_are_compared,
        [FULL, FULL.patched("prompt_cache_diagnostics", to=MISS)],
        {
            "responses:prompt-cache:diagnostics": [FULL, FULL.patched("prompt_cache_diagnostics", to=None)],
            "responses:prompt-cache:miss": [
                FULL,
                FULL.patched("prompt_cache_diagnostics", to=MISS | {"reason": "bad luck"}),
            ],
            "responses:prompt-cache:not-asked": [
                FULL.patched("prompt_cache_diagnostics", to="cache_hit"),
                FULL.patched("prompt_cache_diagnostics", to=MISS),
            ],
        },
    ),
    **spoiled(
        prompt_cache.a_prompt_is_compared_with_nothing,
        [FULL, FULL.patched("prompt_cache_diagnostics", to={"type": "comparison_response_not_found"})],
        [FULL, FULL],
    ),
}
