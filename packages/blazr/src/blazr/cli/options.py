"""Flags made from configuration keys: type, range, help and default stand once, in config/settings.py."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from blazr.config.load import load_settings
from blazr.config.settings import SECTIONS

__all__ = [
    "RUNTIME",
    "SAMPLING",
    "cpu_option",
    "lora_option",
    "model_argument",
    "pick_model",
    "settings_options",
    "vocab_option",
]

Command = Callable[..., Any]
Keys = Mapping[str, tuple[str, str]]

# flag: (section, key)
SAMPLING: Keys = {
    "--max-tokens": ("generation", "max_tokens"),
    "--temperature": ("generation", "temperature"),
    "--top-p": ("generation", "top_p"),
    "--top-k": ("generation", "top_k"),
    "--min-p": ("generation", "min_p"),
    "--repeat-penalty": ("generation", "repeat_penalty"),
    "--repeat-last-n": ("generation", "repeat_last_n"),
    "--frequency-penalty": ("generation", "frequency_penalty"),
    "--presence-penalty": ("generation", "presence_penalty"),
    "--seed": ("generation", "seed"),
    "--stop": ("generation", "stop_sequences"),
}
RUNTIME: Keys = {
    "--num-ctx": ("inference", "max_context_len"),
    "--threads": ("inference", "threads"),
    "--precise": ("inference", "precise"),
    "--activations": ("inference", "activations"),
}
if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # not generic in older releases


class SettingType(ParamType):
    """Checks a flag's value as the configuration key it stands for."""

    def __init__(self, field: dataclasses.Field[Any]) -> None:
        self._convert = field.metadata["convert"]
        self._many = field.type == "tuple[str, ...]"
        self.name = "text" if self._many else self._convert.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._convert([value] if self._many else value)
        except ValueError as error:
            self.fail(f"{error}, not {value!r:.80}", param, ctx)


def settings_options(
    *groups: Keys, defaults: Mapping[str, Mapping[str, Any]] | None = None
) -> Callable[[Command], Command]:
    """Adds the flags of `groups` and --config; the command receives the merged `settings`.

    `defaults` are this command's own, by section and key, below the configuration file.
    """
    keys = {flag: key for group in groups for flag, key in group.items()}
    names = {flag: f"setting_{flag.removeprefix('--').replace('-', '_')}" for flag in keys}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def merged(**values: Any) -> Any:
            flags = {keys[flag]: _given(values.pop(name)) for flag, name in names.items()}
            settings = load_settings(flags, file=values.pop("config"), defaults=defaults)
            return command(settings=settings, **values)

        config_help = "Configuration file.  [default: ~/.blazr/config.toml, if it exists]"
        run: Command = click.option("--config", type=click.Path(), help=config_help)(merged)
        for flag, (section, key) in reversed(keys.items()):
            run = _option(flag, names[flag], section, key, (defaults or {}).get(section, {}))(run)
        return run

    return decorate


def model_argument(command: Command) -> Command:
    """The model as MODEL, or as -m/--model."""
    command = click.option("-m", "--model", "model_flag", metavar="MODEL", help="Same as MODEL.")(command)
    return click.argument("model", required=False)(command)


def pick_model(model: str | None, model_flag: str | None) -> str:
    """The one that was given. Raises click.UsageError for none, or two different ones."""
    if model is not None and model_flag is not None and model != model_flag:
        raise click.UsageError(f"two models given: {model} and --model {model_flag}")
    chosen = model if model is not None else model_flag
    if not chosen:
        raise click.UsageError("no model given: name one as MODEL or --model (blazr list shows what there is)")
    return chosen


def cpu_option(command: Command) -> Command:
    """--cpu says what is so anyway."""
    return click.option("--cpu", is_flag=True, expose_value=False, help="Run on the CPU (the only device for now).")(
        command
    )


def lora_option(command: Command) -> Command:
    """--lora, at most once: one process answers as one model."""

    def one(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str | None:
        if len(value) > 1:
            raise click.UsageError("--lora can be given once here; blazr serve takes several", ctx)
        return value[0] if value else None

    return click.option(
        "--lora", multiple=True, callback=one, metavar="DIR[=NAME]", help="LoRA adapter to apply to the model."
    )(command)


def vocab_option(command: Command) -> Command:
    """--vocab: only the model's own vocabulary."""

    def check(ctx: click.Context, param: click.Parameter, value: str) -> None:
        if value != "auto":
            raise click.BadParameter(
                f"{value!r} is not available: the model's own tokenizer is used (auto)", ctx, param
            )

    return click.option(
        "--vocab", default="auto", expose_value=False, callback=check, help="Tokenizer vocabulary.  [default: auto]"
    )(command)


def _option(flag: str, name: str, section: str, key: str, defaults: Mapping[str, Any]) -> Callable[[Command], Command]:
    field = next(field for field in dataclasses.fields(SECTIONS[section]) if field.name == key)
    if field.type == "bool":
        return click.option(flag, name, is_flag=True, default=None, help=field.metadata["help"])
    default = defaults.get(key, field.default)
    shown = field.metadata["shown"] or (default if default not in (None, ()) else None)
    many = field.type == "tuple[str, ...]"
    help = field.metadata["help"] + (" Repeatable." if many else "")
    help += f"  [default: {shown}]" if shown is not None else ""
    return click.option(flag, name, type=SettingType(field), multiple=many, default=None, help=help)


def _given(value: Any) -> Any:
    """None for a flag that was not given. A repeated flag's values are one tuple each."""
    if value is None or value is False or value == ():
        return None
    if isinstance(value, tuple):
        return tuple(item for one in value for item in one)
    return value
