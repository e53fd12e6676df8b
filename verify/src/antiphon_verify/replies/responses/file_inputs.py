"""Responses to requests with files."""

from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import RESPONSE

ACCEPTED = states(RESPONSE)

REJECTED = error("240 validation errors for union", 422)

DAMAGED = error("The file is not a valid PDF.", 400)

UNKNOWN = error("No such File object: file-AAAAAAAAAAAAAAAAAAAAAA", 404)
