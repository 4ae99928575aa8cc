"""`blazr chat`: a conversation under the model's chat template."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from blazr.cli.answer import report, write_answer
from blazr.cli.console import is_terminal, note
from blazr.cli.options import RUNTIME, SAMPLING, cpu_option, lora_option, model_argument, pick_model, settings_options
from blazr.cli.prompts import read_lines
from blazr.config import Settings
from blazr.config.settings import TERMINAL_GENERATION
from blazr.errors import SettingsError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["Conversation", "chat"]

_DEFAULTS = {"generation": {**TERMINAL_GENERATION, "max_tokens": 2048}}
_TEMPLATE = {"--chat-template": ("inference", "chat_template")}
_HELP = "/system TEXT sets the instructions, /clear starts over, /exit leaves; Ctrl-C stops an answer"


@click.command()
@model_argument
@click.option("-s", "--system", help="Instructions for the assistant.")
@click.option("-v", "--verbose", is_flag=True, help="Show the numbers of every answer.")
@settings_options(SAMPLING, RUNTIME, _TEMPLATE, defaults=_DEFAULTS)
@lora_option
@cpu_option
def chat(
    model: str | None,
    model_flag: str | None,
    system: str | None,
    verbose: bool,
    lora: str | None,
    settings: Settings,
) -> int:
    """Talk with a model, turn by turn. Lines piped in are turns too."""
    from blazr.cli.loading import load_for_command

    loaded = load_for_command(pick_model(model, model_flag), settings, lora)
    if loaded.chat_template is None:
        raise SettingsError(f"{loaded.name} has no chat template: choose one with --chat-template")
    note(_HELP)
    conversation = Conversation(loaded, settings, system)
    for line in read_lines(">>> ", "chat_history.txt"):
        if line.strip() in ("/exit", "/quit"):
            break
        conversation.take(line, verbose)
    # A person sees the errors; a script sees the exit status.
    return 1 if conversation.failed and not is_terminal(sys.stdin) else 0


class Conversation:
    """The messages so far. A turn that fails or is refused leaves them as they were."""

    def __init__(self, model: LanguageModel, settings: Settings, system: str | None = None) -> None:
        self._model = model
        self._settings = settings
        self._system = system
        self.failed = False  # some turn was not answered
        self.messages: list[dict[str, str]] = []
        self.clear()

    def clear(self) -> None:
        """Start over under the same instructions."""
        self.messages = [{"role": "system", "content": self._system}] if self._system else []

    def take(self, line: str, verbose: bool = False) -> None:
        """One typed line: a command, or the next message."""
        text = line.strip()
        command, _, rest = text.partition(" ")
        if command == "/clear":
            self.clear()
        elif command == "/system":
            self._system = rest.strip() or None
            self.clear()
            note(f"instructions {'set' if self._system else 'removed'}; the conversation starts over")
        elif command.startswith("/"):
            note(f"unknown command {command}: {_HELP}")
        elif text:
            self._answer(text, verbose)

    def _answer(self, text: str, verbose: bool) -> None:
        from boostr.errors import BoostrError, ContextLengthError

        messages = [*self.messages, {"role": "user", "content": text}]
        try:
            answer = write_answer(self._model, self._model.encode_chat(messages), self._settings.generation)
        except ContextLengthError as error:
            self.failed = True
            note(f"Error: the conversation has {error.n_prompt} tokens of {error.n_ctx}: /clear starts over")
            return
        except BoostrError as error:
            self.failed = True
            note(f"Error: {error}")
            return
        self.messages = [*messages, {"role": "assistant", "content": answer.text}]
        if verbose or answer.interrupted:
            report(answer)
