"""`blazr list`: the models of the model directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from blazr.cli.console import note, printable
from blazr.cli.options import settings_options
from blazr.config import Settings

if TYPE_CHECKING:
    from blazr.lifecycle.resolve import ResolvedModel

__all__ = ["list_models"]


@click.command("list", short_help="List local models.")
@click.option("-v", "--verbose", is_flag=True, help="Show context, chat template and path too.")
@settings_options()
def list_models(verbose: bool, settings: Settings) -> None:
    """List the models in the model directory: name, format, quantization, family, size."""
    from blazr.lifecycle.resolve import ModelDirectory

    directory = settings.inference.model_dir
    models = ModelDirectory(directory, confined=False).entries()
    if not models:
        note(f"no models in {directory} (BLAZR_MODEL_DIR names another directory; blazr pull fetches one)")
        return
    for line in _aligned([_row(model, verbose) for model in models]):
        click.echo(printable(line))


def _row(model: ResolvedModel, verbose: bool) -> list[str]:
    from blazr.lifecycle.facts import format_parameters, read_facts
    from blazr.progress import format_bytes
    from boostr.errors import BoostrError

    try:
        facts = read_facts(model)
    except (BoostrError, OSError) as error:
        return [model.name, f"unreadable: {error}"]
    row = [model.name, facts.format, facts.quantization, facts.architecture or "unknown", format_bytes(facts.size)]
    if verbose:
        row += [format_parameters(facts.parameters), f"context {facts.context_length}", facts.chat_template or "-"]
        row.append(facts.path)
    return row


def _aligned(rows: list[list[str]]) -> list[str]:
    columns = max(len(row) for row in rows)
    widths = [max((len(row[at]) for row in rows if len(row) > at + 1), default=0) for at in range(columns)]
    return ["  ".join(f"{cell:<{widths[at]}}" for at, cell in enumerate(row)).rstrip() for row in rows]
