"""The page at `/`: self-contained HTML that loads nothing and runs no script, in the browser's
colour scheme.
"""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape

from antiphon.http_server.asgi import RawHeaders
from antiphon.version import __version__

MOST_MODELS = 50
"""Models on the page, at most."""

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem; }
code { font-family: ui-monospace, monospace; }
.ok { color: light-dark(#0a6b2d, #5fd38a); }
.bad { color: light-dark(#a3181b, #ff8a8a); }
"""

POLICY = (
    "default-src 'none'; style-src "
    f"'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)

HEADERS: RawHeaders = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"vary", b"accept"),
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
]

LINKS = (
    ("openapi.json", "The API, as OpenAPI"),
    ("healthz", "Whether the process is alive"),
    ("readyz", "Whether the server can serve"),
    ("v1/models", "The models"),
)
"""Paths relative to the page, since a parent application can mount the server below a path."""

WATCHER_LINKS = (("status", "The status of the backends"),)

METRICS = ("metrics", "Metrics for Prometheus")


def page(
    models: Sequence[str] | None, *, is_healthy: bool, has_metrics: bool, may_watch: bool
) -> bytes:
    """Return the page. `models` is None if the list needs a key."""
    links = [
        *LINKS,
        *(WATCHER_LINKS if may_watch else ()),
        *([METRICS] if has_metrics and may_watch else []),
    ]
    items = "\n".join(
        f'<li><a href="{path}"><code>/{path}</code></a>: {escape(text)}</li>'
        for path, text in links
    )
    health = "healthy" if is_healthy else "not ready"
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Antiphon</title>
<style>{STYLE}</style>
<h1>Antiphon</h1>
<p>Version {escape(__version__)}. This server is <strong class="{"ok" if is_healthy else "bad"}">{health}</strong>.</p>
<p>It serves the Responses API. The base URL for clients is this address followed by <code>v1</code>.</p>
<h2>Models</h2>
{_models(models)}
<h2>Links</h2>
<ul>
{items}
</ul>
</html>
""".encode()  # noqa: E501 - the lines of a text


def _models(models: Sequence[str] | None) -> str:
    if models is None:
        return (
            "<p>This server requires an API key. <code>GET /v1/models</code> lists the models "
            "that yours allows.</p>"
        )
    if not models:
        return "<p>No backend lists a model. <code>antiphon status</code> shows why.</p>"
    names = "\n".join(f"<li><code>{escape(name)}</code></li>" for name in models[:MOST_MODELS])
    more = f"\n<p>And {len(models) - MOST_MODELS} more.</p>" if len(models) > MOST_MODELS else ""
    return f"<ul>\n{names}\n</ul>{more}"
