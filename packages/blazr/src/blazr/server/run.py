"""Runs the application under Hypercorn, and stops it the way clients can bear.

Hypercorn closes its listener as soon as its shutdown trigger fires, so the server drains first: it says so on /health,
refuses new work, lets running work finish for a bounded time, ends what is left with an error, and only then triggers.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config
from starlette.applications import Starlette

from blazr.config import ServerSettings, Settings
from blazr.engine import Lane
from blazr.errors import SettingsError, ShuttingDownError
from blazr.lifecycle.protocol import Models
from blazr.metrics import Metrics
from blazr.server.app import create_app
from blazr.server.http2 import close_idle_connections
from blazr.server.service import Service

__all__ = ["bind_socket", "check_certificate", "drain", "serve", "serve_app"]

logger = logging.getLogger("blazr.server")
_BACKLOG = 1024
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STUCK_SECONDS = 10.0  # beyond the drain, for the steps in progress to end
_FLUSH_SECONDS = 2.0  # for the last error events to leave
# A connection without a request, or with half the head of one. Clients reuse theirs for five seconds (httpx): to close
# in that very moment would lose a request.
_IDLE_SECONDS = 15.0
_CLOSE_SECONDS = 1.0  # for Hypercorn to close what is still open


def serve(models: Models[Lane], settings: Settings, metrics: Metrics | None = None) -> None:
    """What `blazr serve` runs: serve `models` until SIGINT or SIGTERM.

    Raises SettingsError, and what loading the start model raises.
    """
    app = create_app(models, settings, metrics)
    asyncio.run(serve_app(app, start=models.start, on_listening=lambda url: logger.info("listening at %s", url)))


async def serve_app(
    app: Starlette,
    *,
    start: Callable[[], Awaitable[None]] | None = None,
    on_listening: Callable[[str], None] | None = None,
    shutdown: asyncio.Event | None = None,
    exit_now: Callable[[int], Any] = os._exit,
) -> None:
    """Serve until SIGINT or SIGTERM, or until `shutdown` is set; then drain and return.

    start         awaited while already listening (/health answers 503 meanwhile): loads the start model. When it
                  raises, the server stops and the error is raised here.
    on_listening  called with the URL once connections are taken
    exit_now      what a second signal does, given the exit status

    Raises SettingsError when the address cannot be bound or the certificate cannot be read.
    """
    service: Service = app.state.service
    settings = service.settings.server
    check_certificate(settings)
    close_idle_connections()
    listener = bind_socket(settings.host, settings.port)
    url = _url(listener, settings)
    stopping = shutdown or asyncio.Event()
    drained = asyncio.Event()
    with _signals(stopping, exit_now):
        server = asyncio.create_task(
            hypercorn_serve(app, _config(settings, listener), shutdown_trigger=drained.wait)  # type: ignore[arg-type]
        )
        starting = asyncio.create_task(_start(start, stopping))
        try:
            if on_listening is not None:
                on_listening(url)
            waiting = asyncio.create_task(stopping.wait())
            await asyncio.wait({waiting, server}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            await drain(service, settings.shutdown_timeout_secs)
        finally:
            drained.set()
            starting.cancel()
            # A client that does not read would hold the connection, and with it Hypercorn, for ever.
            await asyncio.wait({server}, timeout=_CLOSE_SECONDS + _FLUSH_SECONDS)
            server.cancel()
            await asyncio.wait({server})
    if not server.cancelled() and (error := server.exception()) is not None:
        if not stopping.is_set():
            raise error
        logger.warning("connections had to be cut: %r", error)  # Hypercorn's words for a client that did not let go
    if starting.done() and not starting.cancelled():
        starting.result()


async def drain(service: Service, seconds: float) -> None:
    """Refuse new work, wait at most `seconds` for running work, end the rest with an error, let the errors leave."""
    service.draining = True
    logger.info("shutting down: waiting up to %.0f s for %d requests", seconds, service.open_requests)
    with contextlib.suppress(TimeoutError):  # a step that never ends must not keep the process
        async with asyncio.timeout(seconds + _STUCK_SECONDS):
            await service.models.close(seconds)
    if service.open_requests:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await service.idle.wait()


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening TCP socket. Raises SettingsError naming the flags."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SettingsError(f"server.host (--host) {host!r} is not an address to bind to: {error.strerror}") from error
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)  # connections that come before Hypercorn is ready wait instead of failing
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port or --host"
        ) from error
    listener.setblocking(False)
    return listener


def check_certificate(settings: ServerSettings) -> None:
    """Raises SettingsError when the certificate or key cannot be used; Hypercorn would fail after it has begun."""
    if settings.tls_cert is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(settings.tls_cert, settings.tls_key)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise SettingsError(
            f"--tls-cert {settings.tls_cert} and --tls-key {settings.tls_key} cannot be used: {error}"
        ) from error


def _config(settings: ServerSettings, listener: socket.socket) -> Config:
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.certfile, config.keyfile = settings.tls_cert, settings.tls_key
    config.alpn_protocols = ["http/1.1"]
    config.backlog = _BACKLOG
    config.keep_alive_timeout = _IDLE_SECONDS
    config.graceful_timeout = _CLOSE_SECONDS
    config.include_server_header = False
    config.accesslog = None  # ours is middleware/request_log.py
    config.errorlog = logging.getLogger("blazr.hypercorn")
    config.errorlog.setLevel(logging.WARNING)
    return config


async def _start(start: Callable[[], Awaitable[None]] | None, stopping: asyncio.Event) -> None:
    if start is None:
        return
    try:
        await start()
    except ShuttingDownError:  # asked to stop while the start model was loading: no fault of the model's
        stopping.set()
    except BaseException:
        stopping.set()
        raise


@contextlib.contextmanager
def _signals(stopping: asyncio.Event, exit_now: Callable[[int], Any]) -> Any:
    """The first signal asks to stop; the second does not wait."""
    loop = asyncio.get_running_loop()

    def asked(number: int) -> None:
        if stopping.is_set():
            logger.warning("second signal: exiting now")
            exit_now(128 + number)
        stopping.set()

    installed = []
    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, asked, number)
        except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
            continue
        installed.append(number)
    try:
        yield
    finally:
        for number in installed:
            loop.remove_signal_handler(number)


def _url(listener: socket.socket, settings: ServerSettings) -> str:
    host, port = listener.getsockname()[:2]
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
