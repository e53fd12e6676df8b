"""Models with the weaknesses of local ones, and the task that clients complete with them."""
