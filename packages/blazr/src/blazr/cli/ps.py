"""`blazr ps`: the models a running server holds in memory."""

from __future__ import annotations

import json
from typing import Any

import click

from blazr.cli.console import note, printable
from blazr.cli.options import settings_options
from blazr.config import Settings
from blazr.errors import BlazrError

__all__ = ["ps"]

_SERVER = "http://localhost:8080"
_NEVER = "9999-"  # the year that stands for it where clients want a date
MAX_ANSWER_BYTES = 4 << 20
TIMEOUT_SECONDS = 10


@click.command(short_help="Show what a running server has loaded.")
@click.option("--server", default=_SERVER, help=f"Address of the server.  [default: {_SERVER}]")
@settings_options({"--api-key": ("server", "api_keys")})
def ps(server: str, settings: Settings) -> None:
    """Show the models that a running server holds in memory."""
    models = _running(server, settings.server.api_keys)
    if not models:
        note("no model is loaded")
    for model in models:
        from blazr.progress import format_bytes

        expiry = str(model.get("expires_at") or _NEVER)
        expiry = "stays loaded" if expiry.startswith(_NEVER) else f"until {expiry}"
        line = f"{model.get('name', '?')}  {format_bytes(int(model.get('size') or 0))}  {expiry}"
        click.echo(printable(line))


def _running(server: str, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    if not server.startswith(("http://", "https://")):
        raise click.UsageError(f"--server must begin with http:// or https://, not {server!r}")
    request = Request(f"{server.rstrip('/')}/api/ps")
    if keys:
        request.add_header("Authorization", f"Bearer {keys[0]}")
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.loads(response.read(MAX_ANSWER_BYTES))
        return [dict(model) for model in answer["models"]]
    except HTTPError as error:
        wants_key = " (it wants a key: --api-key)" if error.code == 401 else ""
        raise BlazrError(f"the server at {server} answered {error.code}{wants_key}") from error
    except (URLError, OSError) as error:
        raise BlazrError(f"no server answers at {server}: start one with blazr serve, or give --server") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BlazrError(f"what answers at {server} is not blazr") from error
