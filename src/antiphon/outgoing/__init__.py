"""Requests to addresses that clients name: only public ones are connected to, and only after they were looked at."""
