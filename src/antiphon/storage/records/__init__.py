"""The records of a store, as plain values. Times are whole seconds since the epoch; `tenant` is the
owner.

Each is a frozen `Struct`: a dataclass needs nine times as long to be created, and a server that
starts would need a millisecond to define each of sixty.
"""
