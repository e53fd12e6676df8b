"""The records of a store, as plain values. Times are whole seconds since the epoch; `tenant` is the
owner.
"""
