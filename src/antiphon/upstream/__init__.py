"""Backends: their interface, the HTTP client, discovery, and the scripted demo."""
