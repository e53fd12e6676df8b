"""Forms of input, taken and not."""

from antiphon_verify.replies import error, says
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.samples import TEA

TAKEN = says(RESPONSE)

TOLD = says(RESPONSE | {"instructions": TEA, "metadata": {"tea": TEA}})

REFUSED = error("240 validation errors for union", 422)
