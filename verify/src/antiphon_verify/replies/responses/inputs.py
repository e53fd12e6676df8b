"""Responses to forms of input."""

from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.samples import TEA

ACCEPTED = states(RESPONSE)

ECHOED = states(RESPONSE | {"instructions": TEA, "metadata": {"tea": TEA}})

REJECTED = error("240 validation errors for union", 422)
