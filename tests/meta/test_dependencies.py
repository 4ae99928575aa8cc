"""What a package declares it imports, what it imports it declares, and docs/dependencies.md gives each a reason."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("numr", "boostr", "blazr")
MODULES = {"prometheus-client": "prometheus_client", "huggingface-hub": "huggingface_hub", "ml-dtypes": "ml_dtypes"}
OPTIONAL = {"cupy", "readline"}  # an extra, and a part of Python that some builds lack


def declared(package: str) -> set[str]:
    """Names of packages before any version."""
    project = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]
    return {line.split(">")[0].split("=")[0] for line in project["dependencies"]}


def imported(package: str) -> set[str]:
    """Top-level modules that the package's source imports anywhere, of others."""
    found: set[str] = set()
    for file in (ROOT / "packages" / package / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {package} - OPTIONAL


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_declared_is_what_is_imported(package: str) -> None:
    assert {MODULES.get(name, name) for name in declared(package)} == imported(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_each_has_a_reason(package: str) -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    section = page.partition(f"\n## {package}\n")[2].partition("\n## ")[0]
    named = {
        name.strip() for line in section.splitlines() for name in line.partition("|")[2].partition("|")[0].split(",")
    }
    assert declared(package) <= named
