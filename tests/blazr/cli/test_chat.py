"""`chat`: turns under the template, commands, refused and interrupted turns."""

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Blazr = Callable[..., Result]
GREEDY = ("--temperature", "0", "--max-tokens", "2")

pytestmark = pytest.mark.usefixtures("loaded")


def prompts(network: Any) -> list[str]:
    """Every prompt that was run; single tokens are the decode steps."""
    return [bytes(batch).decode() for batch in network.batches if len(batch) > 1]


def test_every_turn_renders_the_whole_conversation(blazr: Blazr, network: Any) -> None:
    done = blazr("chat", "counting", *GREEDY, input="a\nb\n")
    assert prompts(network) == ["u:a;", "u:a;a:<=;u:b;"]
    assert done.stdout == "<=\n<=\n"
    assert done.exit_code == 0


def test_instructions_come_first_and_can_be_replaced(blazr: Blazr, network: Any) -> None:
    blazr("chat", "counting", "-s", "Be kind.", *GREEDY, input="a\n/system Be brief.\nb\n")
    assert prompts(network) == ["s:Be kind.;u:a;", "s:Be brief.;u:b;"]


def test_clear_starts_over_under_the_same_instructions(blazr: Blazr, network: Any) -> None:
    blazr("chat", "counting", "-s", "S", *GREEDY, input="a\n/clear\nb\n")
    assert prompts(network)[-1] == "s:S;u:b;"


@pytest.mark.parametrize("word", ["/exit", "/quit"])
def test_leaving(blazr: Blazr, network: Any, word: str) -> None:
    assert blazr("chat", "counting", *GREEDY, input=f"{word}\na\n").exit_code == 0
    assert network.batches == []


def test_an_unknown_command_is_not_sent_to_the_model(blazr: Blazr, network: Any) -> None:
    done = blazr("chat", "counting", *GREEDY, input="/imagine a cat\n")
    assert "unknown command /imagine" in done.stderr
    assert network.batches == []


def test_a_turn_that_does_not_fit_leaves_the_conversation_as_it_was(blazr: Blazr, network: Any) -> None:
    done = blazr("chat", "counting", *GREEDY, input="a\n" + "x" * 300 + "\nb\n")
    assert "/clear starts over" in done.stderr
    assert prompts(network)[-1] == "u:a;a:<=;u:b;"
    assert done.exit_code == 1  # the lines were piped in: whoever wrote them has to know


def test_ctrl_c_stops_the_answer_and_not_the_program(blazr: Blazr, network: Any) -> None:
    def interrupt() -> None:
        if len(network.batches) == 1:
            network.on_forward = lambda: None
            raise KeyboardInterrupt

    network.on_forward = interrupt
    done = blazr("chat", "counting", *GREEDY, input="a\nb\n")
    assert done.exit_code == 0
    assert done.stdout == "<\n<=\n"
    assert prompts(network)[-1] == "u:a;a:<;u:b;"


def test_a_model_without_a_template_is_refused(blazr: Blazr, model: Any) -> None:
    model.chat_template = None
    done = blazr("chat", "counting", input="a\n")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "counting has no chat template: choose one with --chat-template" in done.stderr
