"""`blazr completions`: a script that teaches a shell blazr's commands and flags."""

from __future__ import annotations

import click

__all__ = ["completions"]


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completions(ctx: click.Context, shell: str) -> None:
    """Print a completion script for SHELL, as in: eval "$(blazr completions bash)"."""
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(ctx.find_root().command, {}, "blazr", "_BLAZR_COMPLETE").source())
