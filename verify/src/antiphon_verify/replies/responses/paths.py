"""Paths and methods."""

from dataclasses import replace

from antiphon_verify.replies import error

LOST = error("Unknown request URL.", 404, "unknown_url")

NOT_FOUND = error("Response with id 'x' not found.", 404)

BROKEN = error("Internal Server Error", 500)

NOT_ALLOWED = replace(error("Not allowed.", 405), headers={"allow": "GET, POST"})
