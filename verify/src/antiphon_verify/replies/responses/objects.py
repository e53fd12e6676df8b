"""The response object."""

from antiphon_verify.replies import says
from antiphon_verify.replies.bodies import RESPONSE

GOOD = says(RESPONSE)
