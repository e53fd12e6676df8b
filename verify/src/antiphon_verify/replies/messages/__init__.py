"""Replies of the Messages API, a file for each area."""
