"""Answers that are kept, to be given again."""
