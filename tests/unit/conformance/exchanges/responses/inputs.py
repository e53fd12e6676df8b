"""Forms of input, taken and not."""

from antiphon_verify.areas.responses import inputs
from antiphon_verify.samples import TEA
from tests.unit.conformance.exchanges import Shown, error, says, spoiled
from tests.unit.conformance.exchanges.bodies import RESPONSE

TAKEN = says(RESPONSE)

TOLD = says(RESPONSE | {"instructions": TEA, "metadata": {"tea": TEA}})

REFUSED = error("240 validation errors for union", 422)

EXCHANGES: dict[str, Shown] = {
    **{
        name: one
        for case in (*inputs.CASES, inputs.the_last_of_two_keys_counts)
        for name, one in spoiled(case, [TAKEN], [REFUSED]).items()
    },
    **spoiled(inputs.an_item_is_referred_to, [TAKEN, TAKEN], [TAKEN, REFUSED]),
    **spoiled(inputs.a_text_comes_back_unchanged, [TOLD], [TOLD.patched("metadata", "tea", to="? ? ?")]),
}
