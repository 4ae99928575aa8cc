"""Endpoints that may take long: they read the body, then watch for the client leaving while they work.

Hypercorn's `send` does not fail after a disconnect; only `receive` tells. So one task waits there and cancels the
work, whatever it is doing: waiting for a model to load, in the queue, in the middle of a stream.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blazr.server.service import request_id_of, service_of

__all__ = ["ClientStalledError", "Handler", "WaitingEndpoint"]

Handler = Callable[[Request, bytes], Awaitable[ASGIApp]]
CLIENT_CLOSED = 499  # for the log and the metrics; nobody receives it
WRITE_SECONDS = 20.0  # a client that takes nothing for so long is treated as one that left

logger = logging.getLogger("blazr.server")


class ClientStalledError(Exception):
    """The client does not read its answer. Nothing can be told to it."""


class WaitingEndpoint:
    """An ASGI endpoint around `handler(request, body) -> response`."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        service_of(request).check_accepting()
        try:
            body = await request.body()
        except ClientDisconnect:
            scope["blazr.status"] = CLIENT_CLOSED
            return
        work = asyncio.ensure_future(self._answer(request, body, send))
        gone = asyncio.ensure_future(_client_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                try:
                    work.result()
                except ClientStalledError:
                    logger.info("request %s: its client does not read the answer", request_id_of(scope))
                    scope["blazr.status"] = CLIENT_CLOSED
            else:
                scope["blazr.status"] = CLIENT_CLOSED
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.wait({work, gone})
            _retrieve(work, gone)

    async def _answer(self, request: Request, body: bytes, send: Send) -> None:
        response = await self._handler(request, body)
        await response(request.scope, request.receive, _impatient(send))


def _impatient(send: Send) -> Send:
    async def bounded(message: Message) -> None:
        try:
            async with asyncio.timeout(WRITE_SECONDS) as timeout:
                await send(message)
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise ClientStalledError from error

    return bounded


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _retrieve(*tasks: "asyncio.Future[None]") -> None:
    """Mark errors of abandoned tasks as seen; asyncio complains about them otherwise."""
    for task in tasks:
        if not task.cancelled():
            task.exception()
