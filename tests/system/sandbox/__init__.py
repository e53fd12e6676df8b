"""Code in a machine attacks the host, the server and other machines."""
