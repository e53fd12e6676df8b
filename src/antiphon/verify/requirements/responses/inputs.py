"""responses: inputs."""

from antiphon.verify.requirement import Table

TABLE: Table = ()
