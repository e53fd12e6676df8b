"""Model answers that are stored to be returned again."""
