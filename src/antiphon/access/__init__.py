"""API keys, sealing keys, limits and credentials."""
