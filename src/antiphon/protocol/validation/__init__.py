"""The exact error for each bad request (specification section 13)."""
