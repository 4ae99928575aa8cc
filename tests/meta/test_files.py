"""The shape every source file keeps: an opening docstring, and a size that fits in the head."""

import ast
from pathlib import Path

PACKAGES = Path(__file__).parents[2] / "packages"
SOURCES = sorted(PACKAGES.glob("*/src/**/*.py"))


def test_modules_open_with_what_they_are() -> None:
    silent = [str(p.relative_to(PACKAGES)) for p in SOURCES if not ast.get_docstring(ast.parse(p.read_text("utf-8")))]
    assert silent == []


def test_files_stay_under_four_hundred_lines() -> None:
    native = [p for p in PACKAGES.glob("*/src/**/*") if p.suffix in {".c", ".h"}]
    long = {
        str(p.relative_to(PACKAGES)): n
        for p in [*SOURCES, *native]
        if (n := len(p.read_text("utf-8").splitlines())) > 400
    }
    assert long == {}


def test_functions_stay_under_sixty_lines() -> None:
    long = [
        f"{path.relative_to(PACKAGES)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert long == []
