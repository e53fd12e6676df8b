"""The console's filter language for responses."""
