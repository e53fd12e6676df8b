"""Requests to addresses from clients: resolved once, checked, then pinned."""
