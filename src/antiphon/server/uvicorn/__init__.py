"""uvicorn as the host: its connections with the bounds that it lacks, its shutdown, and the processes of one port."""
