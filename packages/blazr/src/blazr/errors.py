"""Every error blazr raises on purpose. The HTTP status of each stands in one table, server/errors.py.

BlazrError
├── SettingsError            a flag, environment variable or configuration key is wrong: names it
├── RequestError             the request itself is wrong (400); carries the offending parameter and a code
├── ModelNotFoundError       no model or variant of that name is known here (404)
├── AdapterPathError         a client named an adapter outside the directories it may name (403)
├── AdapterExistsError       the adapter's name is taken by another one (409)
├── ModelLoadError           the model exists and could not be loaded (500)
├── ModelMemoryError         the model would not fit the memory budget (503)
├── OverloadedError          a queue is full: retry later (503)
│   └── RateLimitError       the client exceeds its rate: retry later (429)
├── ShuttingDownError        the server is draining and takes no new work (503)
├── RequestTimeoutError      the request ran past its time limit (408)
└── PullError                a download failed or did not verify
"""

__all__ = [
    "AdapterExistsError",
    "AdapterPathError",
    "BlazrError",
    "ModelLoadError",
    "ModelMemoryError",
    "ModelNotFoundError",
    "OverloadedError",
    "PullError",
    "RateLimitError",
    "RequestError",
    "RequestTimeoutError",
    "SettingsError",
    "ShuttingDownError",
]


class BlazrError(Exception):
    """Base of every error that blazr raises on purpose."""


class SettingsError(BlazrError, ValueError):
    """A flag, environment variable or configuration key is wrong; names it and the remedy."""


class RequestError(BlazrError, ValueError):
    """The request is wrong. `param` names the field; `code` is OpenAI's machine-readable word."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class ModelNotFoundError(BlazrError, LookupError):
    """No model or variant of that name is known here; lists what is."""


class AdapterPathError(BlazrError):
    """An adapter's path lies outside the directories that clients may name."""


class AdapterExistsError(BlazrError):
    """The name belongs to another adapter of the same model."""


class ModelLoadError(BlazrError):
    """The model exists but could not be loaded; the cause is chained."""


class ModelMemoryError(BlazrError):
    """Weights and cache would exceed the memory budget; gives both numbers."""


class OverloadedError(BlazrError):
    """No room now: a queue is full or a rate is exceeded. `retry_after` is in seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimitError(OverloadedError):
    """This client sends more requests than it may."""


class ShuttingDownError(BlazrError):
    """The server is draining and takes no new work."""


class RequestTimeoutError(BlazrError, TimeoutError):
    """The request ran past its time limit."""


class PullError(BlazrError):
    """A download failed or its content did not verify; names the file."""
