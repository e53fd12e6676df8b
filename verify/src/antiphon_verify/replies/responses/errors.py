"""Rejections of invalid requests."""

from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import RESPONSE

ACCEPTED = states(RESPONSE)

GOOD = error("It is wrong.")

NO_SUGGESTION = error("Unknown parameter: 'temprature'.")

SUGGESTION = error("Unknown parameter: 'temprature'. Did you mean 'temperature'?")
