"""Replies of Chat Completions, a file for each area."""
