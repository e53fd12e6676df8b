"""Replies of the Responses API, a file for each area."""
