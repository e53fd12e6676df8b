"""Translates both APIs into each other: requests in one direction, responses in the other. No I/O."""
