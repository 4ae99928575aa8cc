"""Imports go one way: numr <- boostr <- blazr, and inside each package only from left to right in its order."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[2] / "packages"

# Left may import right, and its own folder. docs/architecture.md says why.
ORDER = {
    "numr": (
        ("namespace", "nn", "random", "linalg", "fft"),
        "backends",
        "native",
        ("tensor", "dtypes", "devices"),
        "errors",
    ),
    "boostr": (
        "decision",
        "generate",
        "models",
        "peft",
        "nn",
        "state",
        "chat",
        "tokenizers",
        "hub",
        "formats",
        "quant",
        "errors",
    ),
    "blazr": ("cli", "server", "engine", "lifecycle", "metrics", "config", "errors"),
}
MAY_USE = {"numr": {"numr"}, "boostr": {"boostr", "numr"}, "blazr": {"blazr", "boostr", "numr"}}


def sources(package: str) -> Iterator[Path]:
    return (PACKAGES / package / "src" / package).rglob("*.py")


def imported(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """(line, dotted module) of every import that runs; those for the type checker alone do not count."""
    root = PACKAGES / package / "src"
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {id(node) for block in ast.walk(tree) if _for_types_only(block) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = path.relative_to(root).with_suffix("").parts[: -node.level]
                base = ".".join((*parents, *filter(None, [base])))
            yield node.lineno, base
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def rank(package: str, module: str) -> int | None:
    """Place of a module in its package's order, 0 being the top; None for the package root."""
    part = module.split(".")[1] if "." in module else None
    for place, layer in enumerate(ORDER[package]):
        if part == layer or (isinstance(layer, tuple) and part in layer):
            return place
    return None


@pytest.mark.parametrize("package", MAY_USE)
def test_packages_import_only_those_below(package: str) -> None:
    wrong = [
        f"{path.relative_to(PACKAGES)}:{line} imports {module}"
        for path in sources(package)
        for line, module in imported(path, package)
        if module.split(".")[0] in MAY_USE and module.split(".")[0] not in MAY_USE[package]
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ORDER)
def test_layers_import_only_to_the_right(package: str) -> None:
    root = PACKAGES / package / "src"
    wrong = []
    for path in sources(package):
        own = rank(package, ".".join(path.relative_to(root).with_suffix("").parts))
        for line, module in imported(path, package):
            other = rank(package, module) if module.split(".")[0] == package else None
            if own is not None and other is not None and other < own:
                wrong.append(f"{path.relative_to(PACKAGES)}:{line} imports {module}")
    assert wrong == []


@pytest.mark.parametrize("package", ORDER)
def test_every_folder_has_its_place_in_the_order(package: str) -> None:
    root = PACKAGES / package / "src" / package
    folders = {p.name for p in root.iterdir() if p.is_dir() and any(p.rglob("*.py"))}
    assert {name for name in folders if rank(package, f"{package}.{name}") is None} == set()


def test_cupy_stays_inside_the_cuda_folders() -> None:
    allowed = ("numr/src/numr/backends/cuda/", "boostr/src/boostr/quant/cuda/")
    wrong = [
        f"{path.relative_to(PACKAGES)}:{line}"
        for package in ORDER
        for path in sources(package)
        for line, module in imported(path, package)
        if module.split(".")[0] == "cupy" and not str(path.relative_to(PACKAGES)).startswith(allowed)
    ]
    assert wrong == []
