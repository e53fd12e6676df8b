"""The state that a response starts from: its context, earlier turns, files and images."""
