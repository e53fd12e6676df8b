"""uvicorn as the host: its connections with additional bounds, its shutdown, and the processes of one port."""
