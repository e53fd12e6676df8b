"""Both APIs, each translated into the other: requests one way, answers the other way. No I/O."""
