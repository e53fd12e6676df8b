"""Files that are read, and files that are not."""

from antiphon_verify.areas.responses import file_inputs
from tests.unit.conformance.exchanges import Shown, error, says, spoiled
from tests.unit.conformance.exchanges.bodies import RESPONSE

TAKEN = says(RESPONSE)

REFUSED = error("240 validation errors for union", 422)

DAMAGED = error("The file is not a valid PDF.", 400)

UNKNOWN = error("No such File object: file-AAAAAAAAAAAAAAAAAAAAAA", 404)

EXCHANGES: dict[str, Shown] = {
    **{name: one for case in file_inputs.CASES for name, one in spoiled(case, [TAKEN], [REFUSED]).items()},
    **spoiled(file_inputs.a_chain_goes_on_after_a_file, [TAKEN, TAKEN], [TAKEN, REFUSED]),
    **spoiled(file_inputs.a_damaged_file_is_refused, [DAMAGED], [TAKEN]),
    **spoiled(file_inputs.an_unknown_file_is_refused, [UNKNOWN], [TAKEN]),
}
