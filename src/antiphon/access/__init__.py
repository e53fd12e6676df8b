"""Who may do what, and with which keys: API keys, limits, metering, sealed state, credentials."""
