"""responses: inputs."""
