"""`run` and `generate`: what goes to stdout, what to stderr, where prompts come from, how runs end."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Blazr = Callable[..., Result]
GREEDY = ("--temperature", "0")

pytestmark = pytest.mark.usefixtures("loaded")


@pytest.mark.parametrize("command", ["run", "generate"])
def test_text_alone_goes_to_stdout(blazr: Blazr, command: str) -> None:
    done = blazr(command, "counting", "-p", "w", *GREEDY)
    assert (done.exit_code, done.stdout) == (0, "xyz\n")
    assert re.search(r"\[3 tokens, \d+\.\d tok/s, \d+\.\ds\]\n$", done.stderr)
    assert "loaded counting (counting, GGUF F32, 1 layers, context 200) in" in done.stderr


def test_the_model_is_a_position_or_a_flag(blazr: Blazr) -> None:
    assert blazr("run", "--model", "counting", "--prompt", "w", *GREEDY).stdout == "xyz\n"
    assert blazr("run", "-m", "counting", "-p", "w", *GREEDY, "--cpu", "--vocab", "auto").stdout == "xyz\n"


def test_the_raw_prompt_reaches_the_model(blazr: Blazr, network: Any) -> None:
    blazr("run", "counting", "-p", "Once upon", *GREEDY, "--max-tokens", "1")
    assert bytes(network.batches[0]) == b"Once upon"


def test_max_tokens_defaults_to_a_hundred(blazr: Blazr) -> None:
    assert len(blazr("run", "counting", "-p", "\0", *GREEDY).stdout.rstrip("\n")) == 100
    assert blazr("run", "counting", "-p", "a", *GREEDY, "--max-tokens", "3").stdout == "bcd\n"


def test_stop_texts_end_the_answer(blazr: Blazr) -> None:
    assert blazr("run", "counting", "-p", "a", *GREEDY, "--stop", "ef", "--stop", "q").stdout == "bcd\n"


def test_runtime_flags_reach_the_load(blazr: Blazr, loaded: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr("numr.set_num_threads", threads.append)
    blazr("run", "counting", "-p", "a", "--num-ctx", "64", "--precise", "--threads", "1")
    assert (loaded["inference"].max_context_len, loaded["inference"].precise, threads) == (64, True, [1])


@pytest.mark.parametrize("more", [(), ("-p", "-")])
def test_a_prompt_can_be_piped_in(blazr: Blazr, more: tuple[str, ...]) -> None:
    assert blazr("generate", "counting", *GREEDY, *more, input="w").stdout == "xyz\n"


def test_nothing_piped_in_is_no_prompt(blazr: Blazr) -> None:
    done = blazr("run", "counting", input="")
    assert done.exit_code == 2
    assert "no prompt: give --prompt, or pipe one in" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("run", "-p", "x"), 2, "no model given"),
        (("run", "counting", "-m", "other", "-p", "x"), 2, "two models given: counting and --model other"),
        (
            ("run", "counting", "-p", "x", "--temperature", "nan"),
            2,
            "'--temperature': must be a finite number, not 'nan'",
        ),
        (("run", "counting", "-p", "x", "--top-p", "2"), 2, "'--top-p': must be between 0 and 1, not '2'"),
        (("run", "counting", "-p", "x", "--max-tokens", "0"), 2, "'--max-tokens': must be at least 1, not '0'"),
        (("run", "counting", "-p", "x", "--vocab", "llama3"), 2, "'--vocab': 'llama3' is not available"),
        (("run", "counting", "-p", "x", "--image", "a.png"), 2, "No such option"),
        (("run", "counting", "-p", "x", "--lora", "a", "--lora", "b"), 2, "--lora can be given once here"),
        (("run", "counting", "-p", "x", "--lora", "no-such"), 1, "Error: no-such does not exist: an adapter is"),
        (
            ("run", "counting", "-p", "x", "--lora", "no-such=a b"),
            1,
            "Error: --lora no-such=a b: the adapter name 'a b'",
        ),
        (("run", "missing", "-p", "x"), 1, "Error: no model named 'missing'; known are counting\n"),
        (("run", "counting", "-p", "x" * 300), 1, "Error: the prompt has 300 tokens and the context holds 200"),
        (("run", "counting", "-p", ""), 1, "Error: "),
        (("run", "counting", "-p", "x", "--config", "none.toml"), 1, "Error: cannot read configuration file none.toml"),
    ],
)
def test_mistakes_are_one_line_and_never_a_traceback(
    blazr: Blazr, arguments: tuple[str, ...], status: int, message: str
) -> None:
    done = blazr(*arguments)
    assert done.exit_code == status
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_an_unexpected_failure_says_how_to_see_more(
    blazr: Blazr, network: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise KeyError("rows")

    network.on_forward = fail
    done = blazr("run", "counting", "-p", "x")
    assert (done.exit_code, "Traceback" in done.stderr) == (1, False)
    assert "Error: unexpected KeyError: 'rows' (BLAZR_LOG=debug shows where)" in done.stderr
    monkeypatch.setenv("BLAZR_LOG", "debug")
    assert "Traceback" in blazr("run", "counting", "-p", "x").stderr


def test_an_interrupt_keeps_what_was_written_and_ends_with_130(blazr: Blazr, network: Any) -> None:
    def interrupt() -> None:
        if len(network.batches) == 3:
            raise KeyboardInterrupt

    network.on_forward = interrupt
    done = blazr("run", "counting", "-p", "a", *GREEDY)
    assert (done.exit_code, done.stdout) == (130, "bcd\n")
    assert "[3 tokens" in done.stderr


def test_the_prompt_s_tokens_can_be_shown(blazr: Blazr) -> None:
    done = blazr("generate", "counting", "-p", "hi", "--verbose-prompt", *GREEDY, "--max-tokens", "1")
    assert "    104 'h'\n    105 'i'\n" in done.stderr


def test_a_configuration_file_sets_defaults_and_flags_win(blazr: Blazr, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[generation]\ntemperature = 0\nmax_tokens = 2\n")
    assert blazr("run", "counting", "-p", "a", "--config", str(file)).stdout == "bc\n"
    assert blazr("run", "counting", "-p", "a", "--config", str(file), "--max-tokens", "4").stdout == "bcde\n"


def test_no_colour_where_nobody_looks(blazr: Blazr) -> None:
    assert "\x1b" not in blazr("run", "counting", "-p", "w").stderr


def test_prompts_typed_one_by_one(blazr: Blazr, network: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blazr.cli.generate.read_prompt", lambda prompt: None)  # as at a terminal
    lines = ["w", "", "x" * 300, "/history", "/clear", "y", "/history", "/exit", "w"]
    done = blazr("run", "counting", *GREEDY, input="\n".join(lines))
    assert done.stdout == "xyz\nz\n"
    assert "the prompt has 300 tokens" in done.stderr
    assert re.search(r" 1 w\n +2 x{300}\n(.*\n)* +1 y\n", done.stderr)
