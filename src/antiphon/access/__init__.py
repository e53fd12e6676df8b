"""Authorization and accounting: API keys, limits, metering, sealed state, credentials."""
