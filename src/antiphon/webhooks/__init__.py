"""Notifies other servers that a background response has ended (specification section 12)."""
