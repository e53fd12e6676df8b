"""The response object."""

from antiphon_verify.replies import states
from antiphon_verify.replies.bodies import RESPONSE

GOOD = states(RESPONSE)
