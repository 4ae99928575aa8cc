"""Finding and building libraries: the cache is private, shared by processes, and never trusted blindly."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from numr import native
from numr.errors import NativeError
from numr.native import NativeLibrary, compiler, levels, load_library, loader
from numr.native.recipe import Recipe

HERE = Path(__file__).parent
PLAIN_C = 'int probe_answer(void);\n__attribute__((visibility("default"))) int probe_answer(void) { return %d; }\n'

pytestmark = pytest.mark.skipif(not levels.candidates(), reason="NUMR_CPU_LEVEL=none")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(loader, "_warned", set())
    return tmp_path / "home" / "numr"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "package" / "src"
    folder.mkdir(parents=True)
    (folder / "answer.c").write_text(PLAIN_C % 1)
    return folder


def answer(loaded: NativeLibrary | None) -> int:
    assert loaded is not None
    return int(loaded.function("probe_answer", [], ctypes.c_int)())


def test_built_once_then_found_in_a_private_cache(cache: Path, sources: Path) -> None:
    first = load_library("answer", sources, ["answer.c"])
    second = load_library("answer", sources, ["answer.c"])
    assert answer(first) == answer(second) == 1
    assert first is not None
    assert second is not None
    assert (first.found, second.found, first.path) == ("compiled", "cache", second.path)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert first.path.parent == cache
    assert not list(cache.glob("*.part"))


def test_changed_sources_flags_or_headers_are_another_library(cache: Path, sources: Path) -> None:
    (sources / "unused.h").write_text("/* one */")
    paths = {load_library("answer", sources, ["answer.c"]).path}  # type: ignore[union-attr]
    (sources / "unused.h").write_text("/* two */")
    paths.add(load_library("answer", sources, ["answer.c"]).path)  # type: ignore[union-attr]
    paths.add(load_library("answer", sources, ["answer.c"], flags=["-DX"]).path)  # type: ignore[union-attr]
    (sources / "answer.c").write_text(PLAIN_C % 2)
    changed = load_library("answer", sources, ["answer.c"])
    assert answer(changed) == 2
    assert changed is not None
    assert len(paths | {changed.path}) == 4


PROCESS = """
import ctypes, pathlib, sys
from numr.native import include_dir, load_library
loaded = load_library("probe", pathlib.Path(sys.argv[1]), ["probe.c"], includes=[include_dir()])
print(loaded.found, loaded.function("probe_answer", [], ctypes.c_int)())
"""


def test_four_processes_at_once_build_it_once(cache: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", PROCESS, str(HERE)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=120)[0].split() for process in running]
    assert sorted(said) == [["cache", "42"]] * 3 + [["compiled", "42"]]
    assert len([path for path in cache.glob("probe-*") if path.suffix != ".lock"]) == 1
    assert not list(cache.glob("*.part"))


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_cache_that_others_may_enter_is_not_used(cache: Path, sources: Path, mode: int) -> None:
    cache.mkdir(parents=True)
    cache.chmod(mode)
    with pytest.warns(RuntimeWarning, match="chmod 700"):
        loaded = load_library("answer", sources, ["answer.c"])
    assert answer(loaded) == 1
    assert loaded is not None
    assert not loaded.path.exists()
    assert not list(cache.iterdir())


def test_a_cache_that_is_a_link_is_not_used(cache: Path, sources: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.parent.mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="not a folder of this user's"):
        assert answer(load_library("answer", sources, ["answer.c"])) == 1
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_cache_that_cannot_be_made_is_done_without(cache: Path, sources: Path) -> None:
    cache.parent.write_text("a file where the folder should be")
    with pytest.warns(RuntimeWarning, match="for this process only"):
        assert answer(load_library("answer", sources, ["answer.c"])) == 1


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"not a library"), lambda path: path.chmod(0o777)])
def test_a_damaged_or_foreign_file_is_built_again(cache: Path, damage: Callable[[Path], object]) -> None:
    def other_process() -> str:  # this one would be given the library that it has mapped already
        done = subprocess.run([sys.executable, "-c", PROCESS, str(HERE)], capture_output=True, text=True, check=True)
        return done.stdout

    assert other_process() == "compiled 42\n"
    path = next(path for path in cache.glob("probe-*") if path.suffix != ".lock")
    damage(path)
    assert other_process() == "compiled 42\n"
    assert other_process() == "cache 42\n"


def test_without_a_compiler_there_is_one_warning(cache: Path, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "find_compiler", lambda: None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert load_library("answer", sources, ["answer.c"]) is None
        assert load_library("other", sources, ["answer.c"]) is None
    assert len(seen) == 1
    assert "no C compiler found" in str(seen[0].message)


def test_no_compiler_is_found_on_an_empty_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert compiler.find_compiler.__wrapped__() is None


def test_CC_comes_first_and_may_have_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "cc -DCHOSEN")
    found = compiler.find_compiler.__wrapped__()
    assert found is not None
    assert found.command == ("cc", "-DCHOSEN")


def test_zig_is_told_processors_in_its_own_words(sources: Path, tmp_path: Path) -> None:
    zig = tmp_path / "zig"
    zig.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/line"\n')
    zig.chmod(0o755)
    built = compiler.Compiler((str(zig), "cc"), "clang")
    spelled = {
        "-march=x86-64-v3": "-march=x86_64_v3",
        "-march=armv8-a+dotprod": "-mcpu=baseline+dotprod",
        "-DX": "-mcpu=baseline -DX",
    }
    for flag, expected in spelled.items():
        built.build([sources / "answer.c"], [flag], tmp_path / "out")
        assert f" {expected} " in (tmp_path / "line").read_text()


def test_sources_that_do_not_compile_are_a_warning_with_the_complaint(cache: Path, sources: Path) -> None:
    (sources / "answer.c").write_text("int broken( {")
    with pytest.warns(RuntimeWarning, match=r"answer\.c:1:.*error"):
        assert load_library("answer", sources, ["answer.c"]) is None
    assert not list(cache.glob("*.part"))


def prebuild(sources: Path, level: str, *, stamp: str | None = None) -> Path:
    """What a wheel holds: the library of `sources` with its stamp, or with another one, or ("") with none."""
    recipe = Recipe("answer", sources, ("answer.c",), (), compiler.MATH_FLAGS, sources.parent / "lib")
    unit = sources.parent / "stamp.c"
    text = recipe.stamp_unit(level)
    unit.write_text(text if stamp is None else text.replace(recipe.stamp(level), stamp) if stamp else "int unused;\n")
    recipe.prebuilt.mkdir(exist_ok=True)
    target = recipe.prebuilt / f"libanswer-{level}{loader._SUFFIX}"
    found = compiler.find_compiler()
    assert found is not None
    found.build([*recipe.paths, unit], recipe.options(level), target)
    return target


def test_a_prebuilt_library_comes_first_best_level_first(
    cache: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMR_CPU_LEVEL", raising=False)
    path = prebuild(sources, "baseline")
    found = load_library("answer", sources, ["answer.c"])
    assert answer(found) == 1
    assert found is not None
    assert (found.found, found.level, found.compiler, found.path) == ("prebuilt", "baseline", None, path)
    assert not cache.exists()
    best = path.with_name(path.name.replace("baseline", levels.supported()[0]))
    if best != path:
        best.write_text("for another platform")
        assert load_library("answer", sources, ["answer.c"]).path == path  # type: ignore[union-attr]


@pytest.mark.parametrize("change", ["source", "flags", "level", "stamp", "no stamp"])
def test_a_stale_prebuilt_library_is_named_and_not_used(
    cache: Path, sources: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv("NUMR_CPU_LEVEL", "baseline")
    stamps = {"stamp": "answer baseline 0123", "no stamp": "", "level": "answer avx2 0123"}
    path = prebuild(sources, "baseline", stamp=stamps.get(change))
    if change == "source":
        (sources / "answer.c").write_text(PLAIN_C % 2)
    flags = ["-DOTHER"] if change == "flags" else compiler.MATH_FLAGS
    with pytest.warns(RuntimeWarning, match=rf"{path.name} was built from other sources"):
        found = load_library("answer", sources, ["answer.c"], flags=flags)
    assert answer(found) == (2 if change == "source" else 1)
    assert found is not None
    assert found.found == "compiled"


def test_build_tools_learn_what_was_asked_for(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMR_CPU_LEVEL", "none")
    assert load_library("answer", sources, ["answer.c"], flags=["-DX"]) is None
    recipe = native.requested()["answer"]
    assert (recipe.units, recipe.flags, recipe.prebuilt) == (("answer.c",), ("-DX",), sources.parent / "lib")


def test_a_forced_level_is_the_one_that_is_built(cache: Path, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMR_CPU_LEVEL", "Baseline")
    loaded = load_library("answer", sources, ["answer.c"])
    assert loaded is not None
    assert loaded.level == "baseline"
    monkeypatch.setenv("NUMR_CPU_LEVEL", "none")
    assert load_library("answer", sources, ["answer.c"]) is None


@pytest.mark.parametrize("value", ["sse9", "avx1024", "neonx"])
def test_an_unknown_level_names_the_variable_and_the_choices(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMR_CPU_LEVEL", value)
    with pytest.raises(NativeError, match=r"NUMR_CPU_LEVEL.*baseline, none"):
        levels.candidates()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("sse2", ["baseline"]),
        ("sse2 avx2 fma", ["baseline"]),
        ("avx2 fma f16c bmi1 bmi2 abm movbe", ["avx2", "baseline"]),
        (
            "avx2 fma f16c bmi1 bmi2 abm movbe avx512f avx512bw avx512vl avx512dq avx512cd",
            ["avx512", "avx2", "baseline"],
        ),
        (
            "avx2 fma f16c bmi1 bmi2 abm movbe avx512f avx512bw avx512vl avx512dq avx512cd avx512_vnni",
            ["avx512vnni", "avx512", "avx2", "baseline"],
        ),
    ],
)
def test_levels_of_processors(flags: str, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "machine", lambda: "x86_64")
    monkeypatch.setattr(levels, "_cpu_flags", lambda: frozenset(flags.split()))
    assert list(levels.supported()) == expected


def test_levels_of_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "machine", lambda: "aarch64")
    monkeypatch.setattr(levels, "_cpu_flags", lambda: frozenset({"fp", "asimd"}))
    assert levels.supported() == ("neon", "baseline")
    monkeypatch.setattr(levels, "_cpu_flags", lambda: frozenset({"fp", "asimd", "asimddp"}))
    assert levels.supported() == ("neondot", "neon", "baseline")
    monkeypatch.setattr(levels, "machine", lambda: "riscv64")
    assert levels.supported() == ("baseline",)


def test_a_missing_function_is_named(probe: NativeLibrary) -> None:
    with pytest.raises(NativeError, match="exports no probe_nothing"):
        probe.function("probe_nothing", [])


@pytest.mark.parametrize("level", [level for level in levels.supported() if level != "avx512"])
def test_sources_compile_without_warnings(level: str) -> None:
    found = compiler.find_compiler()
    if found is None:
        pytest.skip("no compiler")
    units = sorted(map(str, native.include_dir().glob("*.c")))
    strict = ["-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *levels.compiler_flags(level)]
    done = subprocess.run([*found.command, *strict, *units], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_unit_is_built() -> None:
    assert sorted(native._UNITS) == sorted(path.name for path in native.include_dir().glob("*.c"))


def test_show_config_says_what_runs() -> None:
    config = native.show_config()
    assert config["level"] == native.level()
    assert config["threads"] == native.get_num_threads()
    assert config["level"] in config["supported"]
    assert os.path.isabs(config["library"])
