"""Replies of HTTP and server-sent events, a file for each area."""
