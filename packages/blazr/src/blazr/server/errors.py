"""The one table from exception class to HTTP status, `type` and `code`, and OpenAI's error shape.

Every route and the streams use it, so an error looks the same wherever it occurs.
"""

import logging
import math
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import boostr.errors as boostr
import numr.errors as numr
from blazr import errors as blazr
from blazr.server.replies import json_reply

__all__ = [
    "ERROR_TABLE",
    "AccessDeniedError",
    "ErrorKind",
    "MissingKeyError",
    "PayloadTooLargeError",
    "describe_error",
    "error_reply",
    "http_exception_reply",
]

logger = logging.getLogger("blazr.server")


class PayloadTooLargeError(blazr.BlazrError):
    """The request body exceeds server.max_body_size."""


class AccessDeniedError(blazr.BlazrError):
    """The request may not come from there: a foreign origin or host name."""


class MissingKeyError(blazr.BlazrError):
    """No API key, or a wrong one."""


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """How one class of errors is answered."""

    status: int
    type: str
    code: str | None = None


_BAD_REQUEST = ErrorKind(400, "invalid_request_error")
_LOAD_FAILED = ErrorKind(500, "server_error", "model_load_failed")
_INTERNAL = ErrorKind(500, "server_error", "internal_error")

ERROR_TABLE: dict[type[BaseException], ErrorKind] = {
    blazr.RequestError: _BAD_REQUEST,
    blazr.SettingsError: ErrorKind(500, "server_error", "settings_error"),
    blazr.ModelNotFoundError: ErrorKind(404, "invalid_request_error", "model_not_found"),
    blazr.AdapterPathError: ErrorKind(403, "invalid_request_error", "access_denied"),
    blazr.AdapterExistsError: ErrorKind(409, "invalid_request_error", "adapter_exists"),
    blazr.ModelLoadError: _LOAD_FAILED,
    blazr.ModelMemoryError: ErrorKind(503, "server_error", "model_load_out_of_memory"),
    blazr.OverloadedError: ErrorKind(503, "server_overloaded", "server_overloaded"),
    blazr.RateLimitError: ErrorKind(429, "rate_limit_error", "rate_limit_exceeded"),
    blazr.ShuttingDownError: ErrorKind(503, "server_error", "server_shutting_down"),
    blazr.RequestTimeoutError: ErrorKind(408, "timeout_error", "request_timeout"),
    PayloadTooLargeError: ErrorKind(413, "invalid_request_error", "request_too_large"),
    AccessDeniedError: ErrorKind(403, "invalid_request_error", "access_denied"),
    MissingKeyError: ErrorKind(401, "invalid_api_key", "invalid_api_key"),
    boostr.ParameterError: _BAD_REQUEST,
    boostr.ContextLengthError: ErrorKind(400, "invalid_request_error", "context_length_exceeded"),
    boostr.TemplateError: ErrorKind(400, "invalid_request_error", "template_error"),
    boostr.TemplateRefusal: ErrorKind(400, "invalid_request_error", "template_refusal"),
    boostr.TokenizerError: ErrorKind(400, "invalid_request_error", "tokenizer_error"),
    boostr.ModelNotFoundError: ErrorKind(404, "invalid_request_error", "model_not_found"),
    boostr.FormatError: _LOAD_FAILED,
    boostr.ConfigError: _LOAD_FAILED,
    boostr.UnsupportedModelError: _LOAD_FAILED,
    boostr.WeightsError: _LOAD_FAILED,
    boostr.AdapterError: ErrorKind(400, "invalid_request_error", "lora_load_error"),
    boostr.DecisionError: ErrorKind(422, "invalid_request_error", "invalid_question"),
    boostr.DecisionLimitError: ErrorKind(413, "invalid_request_error", "request_too_large"),
    boostr.NumericalError: ErrorKind(500, "server_error", "numerical_error"),
    boostr.DeviceMemoryError: ErrorKind(503, "server_overloaded", "out_of_memory"),
    numr.NumrError: ErrorKind(500, "server_error", "compute_error"),
    MemoryError: ErrorKind(503, "server_overloaded", "out_of_memory"),
}

_STATUS_KINDS = {
    404: ErrorKind(404, "invalid_request_error", "not_found"),
    405: ErrorKind(405, "invalid_request_error", "method_not_allowed"),
    413: ERROR_TABLE[PayloadTooLargeError],
    422: ErrorKind(422, "invalid_request_error"),
}


def error_kind(error: BaseException) -> ErrorKind | None:
    """The table's row for an error, or None for one that nobody foresaw."""
    return next((ERROR_TABLE[cls] for cls in type(error).__mro__ if cls in ERROR_TABLE), None)


def describe_error(error: BaseException, request_id: str | None = None) -> tuple[int, dict[str, Any]]:
    """The status and the {"error": ...} object. The text of an unforeseen error stays in the log."""
    kind = error_kind(error)
    if kind is None:
        logger.error("request %s failed", request_id, exc_info=error)
        kind, message = _INTERNAL, f"internal error; the server's log says more under request id {request_id}"
    else:
        message = str(error) or kind.code or kind.type
        if kind.status >= 500 and not isinstance(error, blazr.OverloadedError | blazr.ShuttingDownError):
            logger.warning("request %s failed: %s", request_id, message)
    body: dict[str, Any] = {
        "message": message,
        "type": kind.type,
        "param": getattr(error, "param", None),
        "code": getattr(error, "code", None) or kind.code,
    }
    if isinstance(error, boostr.ContextLengthError):
        body |= {"param": "prompt", "n_prompt_tokens": error.n_prompt, "n_ctx": error.n_ctx}
    return kind.status, {"error": body}


def error_reply(error: BaseException, request_id: str | None = None) -> Response:
    """The whole HTTP answer for an error."""
    status, body = describe_error(error, request_id)
    return json_reply(body, status, _headers(error))


def http_exception_reply(request: Request, error: Exception) -> Response:
    """Starlette's own errors (no such route, wrong method) in the same shape."""
    assert isinstance(error, HTTPException)
    kind = _STATUS_KINDS.get(error.status_code, ErrorKind(error.status_code, "invalid_request_error"))
    messages = {
        404: f"there is no {request.method} {request.url.path}",
        405: f"{request.url.path} does not answer {request.method}",
    }
    message = messages.get(error.status_code, error.detail)
    body = {"error": {"message": message, "type": kind.type, "param": None, "code": kind.code}}
    return json_reply(body, error.status_code, error.headers)


def _headers(error: BaseException) -> dict[str, str]:
    if isinstance(error, blazr.OverloadedError):
        return {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
    if isinstance(error, blazr.ShuttingDownError | blazr.ModelMemoryError | MemoryError):
        return {"Retry-After": "5"}
    if isinstance(error, MissingKeyError):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, PayloadTooLargeError | blazr.RequestTimeoutError):
        return {"Connection": "close"}
    return {}
