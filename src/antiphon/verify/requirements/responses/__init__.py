"""Responses."""
