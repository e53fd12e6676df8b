"""Requests to addresses that others name: only those within reach are connected to, and only after a look at them."""
