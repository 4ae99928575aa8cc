"""What people read beside the generated text: notes on stderr, errors in one line, colours where they are wanted."""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
import warnings
from typing import TextIO

import click

__all__ = ["describe_error", "dim", "is_terminal", "note", "printable", "set_up_logging", "show_error"]

_OWN_ERRORS = {"BlazrError", "BoostrError", "NumrError"}  # by name: importing the trees would import NumPy
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline
_LEVELS = ("debug", "info", "warning", "error")


class _Styled(str):
    """Text whose escapes are ours."""


def note(text: str, *, nl: bool = True) -> None:
    """A line for the person at the terminal."""
    click.echo(text if isinstance(text, _Styled) else printable(text), err=True, nl=nl)


def dim(text: str) -> str:
    """Dimmed where stderr is a terminal that shows colours and nobody set NO_COLOR."""
    text = printable(text)
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not is_terminal(sys.stderr):
        return text
    return _Styled(click.style(text, dim=True))


def printable(text: str) -> str:
    """Control characters spelled out: names in files and messages of templates must not command the terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def is_terminal(stream: TextIO | None) -> bool:
    """False for a stream that was closed before the program began, which Python shows as None."""
    return stream is not None and stream.isatty()


def show_error(error: BaseException) -> None:
    """`Error: ...` in one line; the whole story with BLAZR_LOG=debug."""
    if debugging():
        traceback.print_exception(error, file=sys.stderr)
    note(f"Error: {describe_error(error)}")


def describe_error(error: BaseException) -> str:
    """The error's own words where it was raised on purpose; otherwise what it is and how to see where."""
    own = any(cls.__name__ in _OWN_ERRORS for cls in type(error).__mro__)
    text = " ".join(str(error).split())
    if own or isinstance(error, OSError):
        return text or type(error).__name__
    if isinstance(error, MemoryError):
        return f"out of memory{': ' + text if text else ''}"
    return f"unexpected {type(error).__name__}: {text} (BLAZR_LOG=debug shows where)"


def debugging() -> bool:
    return os.environ.get("BLAZR_LOG", "").lower() == "debug"


def set_up_logging(default: str = "warning") -> None:
    """Log to stderr at BLAZR_LOG's level. Raises click.UsageError for a level that does not exist."""
    level = os.environ.get("BLAZR_LOG", "").lower() or default
    if level not in _LEVELS:
        raise click.UsageError(f"environment variable BLAZR_LOG must be one of {', '.join(_LEVELS)}, not {level!r}")
    if not logging.getLogger().handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_PrintableFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler])
    logging.getLogger("blazr").setLevel(level.upper())  # again, where a command asks for more than the program did
    _show_native_notes()
    warnings.showwarning = _show_warning


def _show_native_notes() -> None:
    """The first use after an install may compile for seconds: whoever waits is told."""
    native = logging.getLogger("numr.native")
    if not native.handlers:
        native.addHandler(_NoteHandler())
        native.setLevel(logging.INFO)
        native.propagate = False


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    note(f"Warning: {message}")


class _NoteHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(dim(record.getMessage()))


class _PrintableFormatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))
