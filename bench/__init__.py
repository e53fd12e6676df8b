"""What the server costs, measured beside nginx: `python -m bench`."""
