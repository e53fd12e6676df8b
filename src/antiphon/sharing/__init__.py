"""How tenants share the limited resources of a process: a fair scheduler for each, and what it reports."""
