"""Cross-origin access for browsers, off unless origins are configured.

Starlette's class answers only true preflights (Origin and Access-Control-Request-Method) and puts its headers on every
answer that passes through it, errors included. Outside authentication, since preflights carry no key.
"""

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

__all__ = ["Cors"]


class Cors(CORSMiddleware):
    """Admits `origins`; "*" admits all."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST", "DELETE", "OPTIONS"),
            allow_headers=("*",),  # mirrors what the browser asks for: Authorization and the SDKs' x-stainless-*
            expose_headers=("x-request-id", "retry-after"),
        )
