"""Translates a Responses request into a request to a backend that implements the Responses API."""
