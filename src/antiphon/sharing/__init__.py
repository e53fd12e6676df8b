"""How tenants share what a process has little of: one fair scheduler for every resource, and what each one reports."""
