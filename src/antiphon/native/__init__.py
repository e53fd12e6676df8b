"""Backends that speak the Responses API themselves: what they are asked, and what they answer. No I/O."""
