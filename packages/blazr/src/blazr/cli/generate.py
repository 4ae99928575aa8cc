"""`blazr run` and `blazr generate`: continue a raw prompt. No chat template is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from blazr.cli.answer import report, write_answer
from blazr.cli.console import note
from blazr.cli.options import (
    RUNTIME,
    SAMPLING,
    cpu_option,
    lora_option,
    model_argument,
    pick_model,
    settings_options,
    vocab_option,
)
from blazr.cli.prompts import read_lines, read_prompt
from blazr.config import Settings
from blazr.config.settings import TERMINAL_GENERATION

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["generate", "run"]

_DEFAULTS = {"generation": TERMINAL_GENERATION}
_PROMPT_HELP = "Input text; - reads it from stdin."


@click.command(short_help="Generate text from a prompt.")
@model_argument
@click.option("-p", "--prompt", help=f"{_PROMPT_HELP} Without it, and at a terminal, asks for prompts.")
@click.option("-v", "--verbose", is_flag=True, help="Say more about the loaded model.")
@settings_options(SAMPLING, RUNTIME, defaults=_DEFAULTS)
@lora_option
@cpu_option
@vocab_option
def run(
    model: str | None,
    model_flag: str | None,
    prompt: str | None,
    verbose: bool,
    lora: str | None,
    settings: Settings,
) -> None:
    """Generate text from a prompt, or from prompts typed one by one.

    MODEL is a path, the name of a model in the model directory, or a Hugging Face repository in the local cache.
    """
    name = pick_model(model, model_flag)
    text = read_prompt(prompt)
    loaded = _load(name, settings, lora, verbose)
    if text is None:
        _ask_for_prompts(loaded, settings)
    else:
        _generate(loaded, text, settings)


@click.command(short_help="Generate text in a script.")
@model_argument
@click.option("-p", "--prompt", help=_PROMPT_HELP + "  [required, unless piped in]")
@click.option("--verbose-prompt", is_flag=True, help="Show the prompt's tokens on stderr.")
@settings_options(SAMPLING, RUNTIME, defaults=_DEFAULTS)
@lora_option
@cpu_option
@vocab_option
def generate(
    model: str | None,
    model_flag: str | None,
    prompt: str | None,
    verbose_prompt: bool,
    lora: str | None,
    settings: Settings,
) -> None:
    """Generate text from a prompt, never interactively: for scripts."""
    name = pick_model(model, model_flag)
    text = read_prompt(prompt)
    if text is None:
        raise click.UsageError("no prompt: give --prompt, or pipe one in")
    loaded = _load(name, settings, lora, False)
    if verbose_prompt:
        _show_tokens(loaded, text)
    _generate(loaded, text, settings)


def _load(name: str, settings: Settings, lora: str | None, verbose: bool) -> LanguageModel:
    from blazr.cli.loading import load_for_command

    loaded = load_for_command(name, settings, lora)
    if verbose:
        note(loaded.report.summary())
        for tensor, reason in loaded.report.skipped.items():
            note(f"skipped {tensor}: {reason}")
    return loaded


def _generate(model: LanguageModel, text: str, settings: Settings) -> None:
    answer = write_answer(model, model.encode(text), settings.generation)
    report(answer)
    if answer.interrupted:
        raise KeyboardInterrupt


def _show_tokens(model: LanguageModel, text: str) -> None:
    tokenizer = model.require_tokenizer()
    for token in model.encode(text):
        note(f"{token:>7} {tokenizer.token_text(token)!r}")


def _ask_for_prompts(model: LanguageModel, settings: Settings) -> None:
    """Each line is a prompt of its own: nothing is remembered between them but the list that /history shows."""
    from boostr.errors import BoostrError

    note("type a prompt; /history lists earlier ones, /clear forgets them, /exit leaves")
    typed: list[str] = []
    for line in read_lines("> ", "run_history.txt"):
        command = line.strip()
        if command in ("/exit", "/quit"):
            break
        if command == "/clear":
            typed.clear()
        elif command == "/history":
            for number, earlier in enumerate(typed, 1):
                note(f"{number:>4} {earlier}")
        elif command:
            typed.append(line)
            try:
                report(write_answer(model, model.encode(line), settings.generation))
            except BoostrError as error:
                note(f"Error: {error}")
