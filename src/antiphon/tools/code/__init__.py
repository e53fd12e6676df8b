"""The `code_interpreter` tool and the hosted `shell`: Python code and commands in containers."""
