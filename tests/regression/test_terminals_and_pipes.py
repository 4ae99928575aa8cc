"""A hostile file name, a closed stream or a strange byte on the command line: a message, and nothing worse."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from blazr.cli.console import _PrintableFormatter, dim, note
from blazr.cli.main import cli
from blazr.cli.prompts import read_prompt
from blazr.config import load_settings
from blazr.errors import SettingsError

DATA = Path(__file__).parents[1] / "data"
BASE = DATA / "gguf" / "models" / "llama-bpe-Q4_K_M.gguf"


@pytest.mark.skipif(os.name == "nt", reason="no such file names")
def test_names_of_files_do_not_command_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "red\x1b[31m.gguf").write_bytes(b"GGUF" + bytes(100))
    done = CliRunner().invoke(cli, ["list"], env={"BLAZR_MODEL_DIR": str(tmp_path)}, prog_name="blazr")
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert r"red\x1b[31m" in done.output


def test_messages_and_log_lines_are_spelled_out(capsys: pytest.CaptureFixture[str]) -> None:
    note("title \x1b]0;x\x07")
    note(dim("dimmed \x1b[2J"))
    shown = capsys.readouterr().err
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert r"title \x1b]0;x\x07" in shown
    record = logging.LogRecord("blazr", logging.INFO, "", 0, "loaded %s", ("\x1b[31m",), None)
    assert _PrintableFormatter("%(message)s").format(record) == r"loaded \x1b[31m"


@pytest.mark.skipif(os.name == "nt", reason="uses a shell's redirections")
@pytest.mark.parametrize(
    ("redirection", "message"), [("<&-", b"stdin is closed"), (">&- -p hello", b"stdout is closed")]
)
def test_closed_streams_are_named(redirection: str, message: bytes) -> None:
    command = f'"{sys.executable}" -m blazr generate "{BASE}" --max-tokens 2 {redirection}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=120, check=False)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert b"unexpected" not in done.stderr


def test_bytes_of_a_prompt_that_are_no_text_are_replaced() -> None:
    assert read_prompt("a\udcffb") == "a\ufffdb"


def test_numbers_beyond_all_bounds_are_told_the_bound() -> None:
    for flag, bound in (("--seed", "9223372036854775807"), ("--max-tokens", "9223372036854775807")):
        done = CliRunner().invoke(cli, ["run", "x", "-p", "x", flag, "9" * 20], prog_name="blazr")
        assert done.exit_code == 2
        assert bound in done.output
    done = CliRunner().invoke(cli, ["run", "x", "-p", "x", "--threads", "1000"], prog_name="blazr")
    assert "'--threads': must be between 1 and 256" in done.output


@pytest.mark.parametrize("key", [" ", "a b", "ключ", "a\tb"])
def test_keys_that_no_client_can_send_are_refused(key: str) -> None:
    with pytest.raises(SettingsError, match="api_keys must hold only visible ASCII"):
        load_settings({("server", "api_keys"): [key]}, environ={})
