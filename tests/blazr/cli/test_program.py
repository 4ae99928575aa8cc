"""The program as a process: quick help, version, exit statuses, pipes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "blazr", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def test_help_is_quick() -> None:
    times = []
    for _ in range(3):
        began = time.monotonic()
        assert run("--help").returncode == 0
        times.append(time.monotonic() - began)
    assert min(times) < 1.0  # a tenth of a second on a quiet machine


@pytest.mark.parametrize("command", ["run", "serve", "info", "pull"])
def test_help_imports_nothing_heavy(command: str) -> None:
    code = f"""
import sys
sys.argv = ["blazr", {command!r}, "--help"]
from blazr.cli.main import main
try:
    main()
finally:
    heavy = {{"numpy", "numr", "starlette", "hypercorn", "tokenizers", "jinja2", "huggingface_hub", "rich", "httpx"}}
    print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == "[]\n"
    assert done.stdout.startswith(f"Usage: blazr {command}")


def test_version() -> None:
    from blazr import __version__

    assert run("--version").stdout == f"blazr, version {__version__}\n"


@pytest.mark.parametrize("arguments", [("frobnicate",), ("run", "--frobnicate"), ("completions", "tcsh")])
def test_wrong_usage_ends_with_two(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: " in done.stderr


def test_a_reader_that_goes_away_is_no_crash() -> None:
    command = f"{sys.executable} -m blazr completions bash | true"
    for _ in range(3):
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
        assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    done = run("completions", shell)
    assert done.returncode == 0
    assert "_BLAZR_COMPLETE" in done.stdout


def test_completion_knows_the_commands() -> None:
    done = run(_BLAZR_COMPLETE="bash_complete", COMP_WORDS="blazr ser", COMP_CWORD="1")
    assert done.stdout == "plain,serve\n"


def test_a_log_level_that_does_not_exist_is_named() -> None:
    done = run("list", BLAZR_LOG="loud")
    assert done.returncode == 2
    assert "BLAZR_LOG must be one of debug, info, warning, error, not 'loud'" in done.stderr


def test_an_unknown_environment_key_is_named(tmp_path: Path) -> None:
    done = run("list", BLAZR_SERVER_PROT="1", HOME=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "BLAZR_SERVER_PROT: unknown key server.prot; did you mean port?" in done.stderr


def test_warnings_and_notes_of_native_code_are_plain_lines() -> None:
    code = """
import logging, warnings
from blazr.cli.console import set_up_logging
set_up_logging()
logging.getLogger("numr.native.loader").info("compiling %s, once", "this")
warnings.warn("no compiler", RuntimeWarning)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == "compiling this, once\nWarning: no compiler\n"
