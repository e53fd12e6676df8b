"""The settings of OGX: its starter distribution, without the providers that need other servers or a
network.
"""

from pathlib import Path
from typing import Any

NEEDED = (
    *(
        "sqlalchemy[asyncio]",
        "aiosqlite",
        "faiss-cpu",
        "numpy",
        "chardet",
        "pypdf",
        "requests",
        "tqdm",
        "pillow",
    ),
    "markitdown",
)
"""What these providers import. OGX itself does not depend on it: its own installer chooses by
provider.
"""

PREFIX = "vllm/"
"""It names a model by its provider and the name there."""


def settings(backend: int, port: int, folder: Path) -> dict[str, Any]:
    """Return the settings: one backend, everything in SQLite and files below the folder."""
    kinds = {"kv_default": ("kv_sqlite", "kv.db"), "sql_default": ("sql_sqlite", "sql.db")}
    databases = {
        name: {"type": kind, "db_path": str(folder / file)} for name, (kind, file) in kinds.items()
    }
    providers = _providers(f"http://127.0.0.1:{backend}/v1", folder)
    return {
        "version": 2,
        "distro_name": "bench",
        "apis": [*providers],
        "providers": providers,
        "storage": {
            "backends": databases,
            "stores": {
                "metadata": {"namespace": "registry", "backend": "kv_default"},
                **{
                    name: _table(name)
                    for name in ("inference", "conversations", "prompts", "connectors")
                },
            },
        },
        "registered_resources": {"models": [], "vector_stores": []},
        "vector_stores": {"default_provider_id": "faiss"},
        "server": {"port": port, "host": "127.0.0.1"},
    }


def _providers(backend: str, folder: Path) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, tuple[str, str, dict[str, Any]]] = {
        "inference": (
            "vllm",
            "remote::vllm",
            {"base_url": backend, "max_tokens": 4096, "api_token": "none"},
        ),
        "vector_io": ("faiss", "inline::faiss", {"persistence": _keys("vector_io")}),
        "files": (
            *("local", "inline::localfs"),
            {"storage_dir": str(folder / "files"), "metadata_store": _table("files")},
        ),
        "file_processors": ("auto", "inline::auto", {}),
        "responses": (
            *("builtin", "inline::builtin"),
            {
                "persistence": {
                    "responses": {
                        **_table("responses"),
                        "max_write_queue_size": 10_000,
                        "num_writers": 4,
                    }
                },
                "memory_config": {"default_vector_store_provider_id": "faiss"},
            },
        ),
        "tool_runtime": ("file-search", "inline::file-search", {}),
    }
    return {
        api: [{"provider_id": name, "provider_type": kind, "config": config}]
        for api, (name, kind, config) in rows.items()
    }


def _table(name: str) -> dict[str, str]:
    return {"table_name": name, "backend": "sql_default"}


def _keys(name: str) -> dict[str, str]:
    return {"namespace": name, "backend": "kv_default"}
