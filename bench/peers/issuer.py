"""An OIDC issuer on loopback, for gateways that ask for one: `python -m bench.peers.issuer PORT
FILE`.

It writes a token of the audience `verify` that is valid for two hours into the file.
"""

import base64
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE = "verify"
LIFE = 7200


def encoded(data: bytes) -> str:
    """Return bytes in base64 as tokens have it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def as_json(value: dict[str, Any]) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value).encode()


def token_of(key: rsa.RSAPrivateKey, issuer: str) -> str:
    """Return a signed token."""
    now = int(time.time())
    claims = {
        "iss": issuer,
        "aud": AUDIENCE,
        "sub": "verify",
        "iat": now - 5,
        "nbf": now - 5,
        "exp": now + LIFE,
    }
    head = {"kid": "1", "alg": "RS256", "typ": "JWT"}
    signed = f"{encoded(as_json(head))}.{encoded(as_json(claims))}"
    return f"{signed}.{encoded(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def documents(key: rsa.RSAPrivateKey, issuer: str) -> dict[str, bytes]:
    """Return, by path, what the issuer says of itself."""
    numbers = key.public_key().public_numbers()
    n, e = (
        encoded(one.to_bytes((one.bit_length() + 7) // 8, "big")) for one in (numbers.n, numbers.e)
    )
    keys = {"keys": [{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": n, "e": e}]}
    about = {
        "issuer": issuer,
        "jwks_uri": f"{issuer}/jwks",
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }
    return {"/jwks": as_json(keys), "/.well-known/openid-configuration": as_json(about)}


def main() -> None:
    """Serve until the process ends."""
    port = int(sys.argv[1])
    file = Path(sys.argv[2])
    issuer = f"http://127.0.0.1:{port}"
    key = rsa.generate_private_key(65537, 2048)
    running = documents(key, issuer)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = running.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    file.touch(mode=0o600)
    file.write_text(token_of(key, issuer))
    server.serve_forever()


if __name__ == "__main__":
    main()
