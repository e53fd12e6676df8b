"""The trust report: what this machine and this store keep when servers die, disks are full,
backends fail and a neighbour floods.

Each check starts servers of its own on a store that has no data, does harm to them, and compares
what was acknowledged with what is there afterwards. `claims.py` says what a check returns,
`checks/` has one file for each, and `report.py` runs them one after the other. The model behind the
servers is scripted (`model.py`): its answers are known, so that a lost word is noticed.
"""
