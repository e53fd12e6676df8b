"""The state of this process and its store, as `/status` and the console show it."""
