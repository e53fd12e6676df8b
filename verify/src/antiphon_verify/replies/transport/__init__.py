"""Replies whose bytes, frames and headers matter, a file for each area."""
