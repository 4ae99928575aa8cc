"""Where prompts come from: a flag, a pipe, or lines typed at a terminal with a history file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from blazr.cli.console import is_terminal, note

__all__ = ["data_directory", "read_lines", "read_prompt"]

HISTORY_LINES = 1000


def read_prompt(prompt: str | None) -> str | None:
    """The text of --prompt; `-`, or nothing with something piped in, reads stdin. None: ask at the terminal."""
    if prompt is not None and prompt != "-":
        # Bytes of the command line that are no UTF-8 come as lone surrogates; from a pipe they are replaced too.
        return prompt.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if sys.stdin is None:
        raise click.UsageError("no prompt: stdin is closed; give --prompt")
    if prompt is None and sys.stdin.isatty():
        return None
    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    if not text:
        raise click.UsageError("no prompt: give --prompt, or pipe one in")
    return text


def read_lines(prompt: str, history: str) -> Iterator[str]:
    """Typed lines until the end of input, remembered in `history`. Ctrl-C drops the line and asks again."""
    file = data_directory() / history
    remembering = is_terminal(sys.stdin) and _start_history(file)
    while True:
        try:
            yield _ask(prompt)
        except EOFError:
            break
        except KeyboardInterrupt:
            note("\n(Ctrl-D or /exit leaves)")
            continue
        if remembering:
            _save_history(file)
    if is_terminal(sys.stdin):
        note("")


def data_directory() -> Path:
    """Where this platform keeps a program's data for a user."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or "~/AppData/Roaming"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "blazr"


def _ask(prompt: str) -> str:
    if sys.stdin is None:
        raise EOFError
    if not sys.stdin.isatty():
        return input()
    if is_terminal(sys.stdout):
        return input(prompt)
    note(prompt, nl=False)  # stdout is a file: what is typed at must not end up in it
    return input()


def _start_history(file: Path) -> bool:
    try:
        import readline
    except ImportError:  # no line editing on this platform
        return False
    readline.set_history_length(HISTORY_LINES)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.touch(mode=0o600)
        readline.read_history_file(file)
    except OSError as error:
        note(f"no history: {error}")
        return False
    return True


def _save_history(file: Path) -> None:
    import readline

    try:
        readline.write_history_file(file)
    except OSError as error:
        note(f"history not saved: {error}")
