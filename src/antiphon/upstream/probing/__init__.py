"""Measures what one model can do at one backend, with a bounded number of short requests."""
