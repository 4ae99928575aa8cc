"""Bearer keys. Compares digests in constant time; a key never reaches a log, a metric or an error text."""

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from blazr.errors import SettingsError
from blazr.server.errors import MissingKeyError
from blazr.server.middleware.request_log import PROBES

__all__ = ["ApiKeys", "read_key_file"]


class ApiKeys:
    """Admits requests with one of `keys`; probes need none. Marks the key's digest as the client, for rate limits."""

    def __init__(self, app: ASGIApp, keys: Sequence[str]) -> None:
        self.app = app
        self._digests = [_digest(key) for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in PROBES:
            scope["blazr.client"] = self._admit(Headers(scope=scope).get("authorization", ""))
        await self.app(scope, receive, send)

    def _admit(self, header: str) -> str:
        scheme, _, key = header.strip().partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise MissingKeyError("an API key is needed: send the header 'Authorization: Bearer <key>'")
        digest = _digest(key.strip())
        # Every key is compared, so that the time does not tell which one was close.
        if not sum(hmac.compare_digest(digest, known) for known in self._digests):
            raise MissingKeyError("the API key is not one that this server knows")
        return digest.hex()


def read_key_file(path: str) -> list[str]:
    """Keys of a file, one a line; # begins a comment line. Raises SettingsError."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"server.api_key_file (--api-key-file): {path} cannot be read: {error}") from error
    keys = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not keys:
        raise SettingsError(f"server.api_key_file (--api-key-file): {path} holds no key")
    return keys


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
