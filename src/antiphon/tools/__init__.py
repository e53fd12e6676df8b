"""Tools that this server runs for the model."""
