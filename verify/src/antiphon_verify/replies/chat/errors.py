"""Rejections of invalid requests."""

from antiphon_verify.replies import error, states
from antiphon_verify.replies.completions import COMPLETION

ACCEPTED = states(COMPLETION)

REJECTED = error("It is wrong.")

LOST = error("The model does not exist.", 404, "model_not_found")

NO_METHOD = error("Not allowed.", 405)

NO_PATH = error("Nothing is here.", 404)
