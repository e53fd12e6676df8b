"""API keys: who asks, what they may ask for, and what they used of it."""
