"""Requests to addresses that clients name: looked up once, checked, then pinned."""
