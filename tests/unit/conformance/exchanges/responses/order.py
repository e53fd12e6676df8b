"""Two faults at once."""

from antiphon_verify.areas.responses.order import CASES, FAULTS
from tests.unit.conformance.exchanges import Shown, error

EXCHANGES: dict[str, Shown] = {
    **{
        f"responses:order:{name}": Shown(
            case, [error("It is wrong.", param=param)], [error("It is wrong.", param="another")]
        )
        for case, (name, (_, param)) in zip(CASES, FAULTS.items(), strict=True)
    },
    "responses:order:one-error": Shown(
        CASES[0], [error("It is wrong.", param="model")], [error("All of it is wrong.", param="model, input")]
    ),
}
