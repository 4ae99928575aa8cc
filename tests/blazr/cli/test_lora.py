"""`--lora` on the commands that answer one person: the adapter is applied, by its own name or a given one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.support.adapters import BASE, write_adapter

Blazr = Callable[..., Result]
GREEDY = ("--max-tokens", "8", "--temperature", "0")


@pytest.mark.parametrize("command", ["run", "generate"])
def test_an_adapter_changes_what_is_said(command: str, blazr: Blazr, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "tuned", 3)
    plain, own, named = (
        blazr(command, str(BASE), "-p", "hello", *GREEDY, *flags)
        for flags in ((), ("--lora", str(adapter)), ("--lora", f"{adapter}=mine"))
    )
    assert (plain.exit_code, own.exit_code, named.exit_code) == (0, 0, 0), own.stderr
    assert own.stdout == named.stdout != plain.stdout
    assert "under the adapter tuned (rank 4, 4 modules)" in own.stderr
    assert "under the adapter mine (rank 4, 4 modules)" in named.stderr


def test_chat_takes_one_too(blazr: Blazr, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "tuned", 3)
    plain, tuned = (
        blazr("chat", str(BASE), "--chat-template", "chatml", *GREEDY, *flags, input="hello\n")
        for flags in ((), ("--lora", str(adapter)))
    )
    assert (plain.exit_code, tuned.exit_code) == (0, 0), tuned.stderr
    assert tuned.stdout != plain.stdout


def test_an_adapter_of_another_model_is_an_error(blazr: Blazr) -> None:
    foreign = BASE.parents[2] / "lora" / "llama_plain"
    done = blazr("run", str(BASE), "-p", "hello", "--lora", str(foreign))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "llama_plain" in done.stderr


def test_a_server_whose_adapter_is_of_another_model_does_not_start(blazr: Blazr) -> None:
    foreign = BASE.parents[2] / "lora" / "llama_plain"
    done = blazr("serve", str(BASE), "--host", "127.0.0.1", "--port", "0", "--lora", str(foreign))
    assert done.exit_code == 1
    assert f"Error: --lora: {foreign}: " in " ".join(done.stderr.split())
