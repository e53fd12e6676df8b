"""What the tests share: a backend that replays bytes, a server around it, and the recordings."""
