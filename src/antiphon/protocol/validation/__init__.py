"""The exact error for each invalid request (specification section 13)."""
