"""Turns every exception of the layers inside into an answer. Sits inside CORS, so that a browser may read the error."""

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blazr.server.errors import error_reply
from blazr.server.service import request_id_of

__all__ = ["ErrorReplies"]

logger = logging.getLogger("blazr.server")


class ErrorReplies:
    """After the first byte nothing can be answered any more: then the error is logged and the connection closed."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:  # the last place where an error can become an answer
            if started:
                logger.exception("request %s failed after its answer had begun", request_id_of(scope))
                raise
            await error_reply(error, request_id_of(scope))(scope, receive, send)
