"""Responses to forms of input."""

from antiphon_verify.replies import error, says
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.samples import TEA

ACCEPTED = says(RESPONSE)

ECHOED = says(RESPONSE | {"instructions": TEA, "metadata": {"tea": TEA}})

REJECTED = error("240 validation errors for union", 422)
