"""Runs one response, from request to result: prepare a plan, then execute it."""
