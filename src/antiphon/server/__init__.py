"""The HTTP API: an ASGI application."""
