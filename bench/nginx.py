"""nginx before the same backend, passing on the same bytes unbuffered: what a proxy costs that
translates nothing.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.ports import free_port
from bench.process import running
from bench.server import RunningServer, wait_for_answer

_CONFIGURATION = """
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_buffer_size 32m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000;
    upstream backend {{ server 127.0.0.1:{backend}; keepalive 512; keepalive_requests 1000000000; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://backend;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }}
    }}
}}
"""


def find() -> str | None:
    """Return the program's path, None where it is not installed."""
    # Debian installs it where an ordinary user's PATH does not look.
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def version(program: str) -> str:
    """Return its version."""
    stated = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr
    return stated.strip().rpartition("/")[2]


@contextmanager
def nginx(program: str, backend: int, folder: Path) -> Iterator[RunningServer]:
    """Run nginx, one process, before the backend at this port."""
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(folder=folder, backend=backend, port=port))
    with running([program, "-e", "stderr", "-p", str(folder), "-c", str(configuration)]) as process:
        wait_for_answer(port, "/v1/models", process)
        yield RunningServer(port, process.pid)
