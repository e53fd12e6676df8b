"""Input and output items as data (specification section 5)."""
