"""`blazr info`: what a model is, or what this machine offers. Loads no weights."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from blazr import __version__
from blazr.cli.console import printable
from blazr.cli.options import model_argument, pick_model, settings_options
from blazr.config import Settings

if TYPE_CHECKING:
    from blazr.lifecycle.facts import ModelFacts

__all__ = ["info"]

_TEMPLATE = {"--chat-template": ("inference", "chat_template")}


@click.command(short_help="Show a model's facts, or this machine's.")
@model_argument
@click.option("--system", "system", is_flag=True, help="Show versions, CPU level, threads and directories instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@settings_options(_TEMPLATE)
def info(model: str | None, model_flag: str | None, system: bool, as_json: bool, settings: Settings) -> None:
    """Show a model's architecture and configuration, from its headers alone."""
    if system:
        facts = _system_facts(settings)
        rows: Iterable[tuple[str, Any]] = facts.items()
    else:
        from blazr.lifecycle.facts import read_facts
        from blazr.lifecycle.resolve import resolve_local

        found = resolve_local(pick_model(model, model_flag), settings.inference.model_dir)
        read = read_facts(found, settings.inference.chat_template)
        facts, rows = read.as_dict(), _model_rows(read)
    if as_json:
        click.echo(json.dumps(facts, indent=2, default=str))
        return
    shown = [(label, value) for label, value in rows if value not in (None, "")]
    width = max(len(label) for label, _ in shown) + 2
    for label, value in shown:
        click.echo(printable(f"{label + ':':<{width}}{value}"))


def _model_rows(facts: ModelFacts) -> list[tuple[str, Any]]:
    from blazr.lifecycle.facts import format_parameters
    from blazr.progress import format_bytes

    tensors = ", ".join(f"{count} {name}" for name, count in facts.tensors.items())
    return [
        ("name", facts.name),
        ("path", facts.path),
        ("format", {"gguf": "GGUF", "safetensors": "SafeTensors"}.get(facts.format, facts.format)),
        ("architecture", facts.architecture or "unknown"),
        ("parameters", f"~{format_parameters(facts.parameters)}"),
        ("hidden size", facts.hidden_size),
        ("layers", facts.num_layers),
        ("heads", facts.num_heads),
        ("KV heads", facts.num_kv_heads),
        ("vocabulary", facts.vocab_size),
        ("max context", facts.context_length),
        ("FFN size", facts.intermediate_size),
        ("quantization", facts.quantization),
        ("tensors", tensors),
        ("chat template", facts.chat_template or "none"),
        ("licence", facts.licence),
        ("weights size", format_bytes(facts.size)),
    ]


def _system_facts(settings: Settings) -> dict[str, Any]:
    import platform
    from importlib.metadata import version
    from pathlib import Path

    import numr
    from boostr.hub import cache_directory

    native = numr.show_config()
    return {
        "blazr": __version__,
        "boostr": version("boostr"),
        "numr": version("numr"),
        "numpy": version("numpy"),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        **{f"native {name}" if name != "threads" else name: value for name, value in native.items()},
        "model directory": str(Path(settings.inference.model_dir).resolve()),
        "hub cache": str(cache_directory()),
        "configuration": str(settings.source) if settings.source else "none",
    }
