"""One tenant, or no tenant at all, attacks a server that others use."""
