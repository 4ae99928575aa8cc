"""The program `blazr`: its commands, and how every way of failing looks from outside.

Exit status: 0 done, 1 an error in one line, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from blazr import __version__
from blazr.cli.chat import chat
from blazr.cli.completions import completions
from blazr.cli.console import note, set_up_logging, show_error
from blazr.cli.fetch import pull
from blazr.cli.generate import generate, run
from blazr.cli.info import info
from blazr.cli.listing import list_models
from blazr.cli.ps import ps
from blazr.cli.serve import serve

__all__ = ["cli", "main"]

INTERRUPTED = 130


class CommandLine(click.Group):
    """A group that ends the process with our exit statuses and never shows a traceback unasked."""

    def main(
        self,
        args: Any = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        def parse_and_run() -> Any:
            return super(CommandLine, self).main(args, prog_name, complete_var, standalone_mode=False, **extra)

        return _exit_with(parse_and_run) if standalone_mode else parse_and_run()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order they were added: the everyday ones first


def _exit_with(parse_and_run: Callable[[], Any]) -> None:
    status = 0
    try:
        result = parse_and_run()
        status = result if isinstance(result, int) else 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        note("interrupted")
        status = INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as in `blazr list | head -1`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  what is still buffered goes nowhere, without complaint
        status = 1
    except Exception as error:
        show_error(error)
        status = 1
    sys.exit(status)


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="blazr")
def cli() -> None:
    """Run and serve language models on this machine."""
    set_up_logging()


for command in (run, chat, serve, generate, info, list_models, pull, ps, completions):
    cli.add_command(command)


def main() -> None:
    """Entry point of the program."""
    cli(prog_name="blazr")
