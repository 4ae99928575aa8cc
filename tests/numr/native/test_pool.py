"""The thread pool as another library sees it: every item once, from any thread, nested, forked; and quiet when idle."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numr import native
from numr.errors import NativeError
from numr.native import NativeLibrary

Visit = Callable[[int, int, int], "np.ndarray[Any, Any]"]


@pytest.fixture
def threads() -> Iterator[int]:
    before = native.get_num_threads()
    native.set_num_threads(4)
    yield 4
    native.set_num_threads(before)


@pytest.fixture
def visit(probe: NativeLibrary) -> Visit:
    function = probe.function("probe_visit", [ctypes.c_void_p, *[ctypes.c_int64] * 3])

    def run(n: int, grain: int, inner: int) -> np.ndarray[Any, Any]:
        visits = np.zeros(n, np.int64)
        function(visits.ctypes.data, n, grain, inner)
        return visits

    return run


@pytest.mark.parametrize("grain", [-1, 1, 3, 64, 10_000, 2**62])
@pytest.mark.parametrize("n", [0, 1, 2, 63, 1000])
def test_every_item_is_done_once(visit: Visit, threads: int, n: int, grain: int) -> None:
    np.testing.assert_array_equal(visit(n, grain, 0), 1)


def test_a_job_inside_a_job_runs_where_it_is(visit: Visit, threads: int) -> None:
    np.testing.assert_array_equal(visit(100, 1, 7), 7)


def test_callers_from_several_threads(visit: Visit, threads: int) -> None:
    wrong: list[int] = []

    def call() -> None:
        wrong.extend(n for n in range(1, 600) if not (visit(n, 3, 0) == 1).all())

    callers = [threading.Thread(target=call) for _ in range(5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_the_number_of_threads_may_change_between_jobs(visit: Visit, threads: int) -> None:
    for n in (1, 6, 2, 3, 1, 4):
        native.set_num_threads(n)
        assert native.get_num_threads() == n
        np.testing.assert_array_equal(visit(500, 2, 0), 1)


@pytest.mark.parametrize("grain", [1, 1000])
def test_subnormals_vanish_inside_jobs_and_nowhere_else(probe: NativeLibrary, threads: int, grain: int) -> None:
    halve = probe.function("probe_halve", [ctypes.c_void_p, *[ctypes.c_int64] * 2])
    x = np.full(400, 1e-38, np.float32)
    halve(x.ctypes.data, len(x), grain)
    assert not x.any()
    assert (np.full(3, 1e-38, np.float32) * np.float32(0.5)).all()


IDLE = """
import ctypes, pathlib, time
import numpy as np
from numr import native
native.set_num_threads(4)
probe = native.load_library("probe", pathlib.Path({here!r}), ["probe.c"], includes=[native.include_dir()])
probe.function("probe_bind", [ctypes.c_void_p], ctypes.c_int)(native.runtime_address())
visits = np.zeros(1000, np.int64)
probe.function("probe_visit", [ctypes.c_void_p, *[ctypes.c_int64] * 3])(visits.ctypes.data, 1000, 1, 0)
time.sleep(0.2)
before = time.process_time()
time.sleep(1.0)
print(time.process_time() - before)
"""


def test_an_idle_pool_uses_no_processor_time(probe: NativeLibrary) -> None:
    # A process of its own: threads that other tests left behind would count too.
    script = IDLE.format(here=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert float(done.stdout) < 0.25, "one spinning thread of three takes a third of a busy core, or all of an idle one"


FORK = """
import ctypes, os, pathlib, sys, threading
import numpy as np
from numr import native
native.set_num_threads(3)
probe = native.load_library("probe", pathlib.Path({here!r}), ["probe.c"], includes=[native.include_dir()])
probe.function("probe_bind", [ctypes.c_void_p], ctypes.c_int)(native.runtime_address())
visit = probe.function("probe_visit", [ctypes.c_void_p, *[ctypes.c_int64] * 3])
def right():
    visits = np.zeros(5000, np.int64)
    visit(visits.ctypes.data, 5000, 1, 0)
    return bool((visits == 1).all())
stop = threading.Event()
def keep_busy():
    while not stop.is_set():
        right()
other = threading.Thread(target=keep_busy)
other.start()
codes = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        os._exit(0 if right() and right() else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
other.join()
sys.exit(0 if codes == [0] * 8 and right() else f"children ended with {{codes}}")
"""


def test_children_forked_in_the_middle_of_a_job_get_a_pool_of_their_own(probe: NativeLibrary) -> None:
    script = FORK.format(here=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_scratch_is_aligned_kept_and_bounded(probe: NativeLibrary) -> None:
    scratch = probe.function("probe_scratch", [ctypes.c_size_t, ctypes.c_size_t], ctypes.c_void_p)
    small = scratch(5, 1000)
    assert small % 64 == 0
    assert scratch(5, 900) == small
    assert scratch(6, 1000) != small
    assert scratch(5, 3_000_000) % 64 == 0
    assert scratch(8, 10) is None
    assert scratch(5, 2**64 - 100) is None
    assert scratch(5, 2**62) is None
    assert scratch(5, 10) % 64 == 0


@pytest.mark.parametrize("n", [0, -1, 257, 2**40])
def test_silly_numbers_of_threads_are_refused(n: int) -> None:
    with pytest.raises(NativeError, match="between 1 and 256"):
        native.set_num_threads(n)


@pytest.mark.parametrize("value", ["0", "-2", "many", "1.5", "100000"])
def test_a_silly_NUMR_NUM_THREADS_is_named(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from numr.native import threads as module

    monkeypatch.setenv("NUMR_NUM_THREADS", value)
    monkeypatch.setattr(module, "_count", None)
    with pytest.raises(NativeError, match="NUMR_NUM_THREADS"):
        native.get_num_threads()


def test_NUMR_NUM_THREADS_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    from numr.native import threads as module

    monkeypatch.setenv("NUMR_NUM_THREADS", " 3 ")
    monkeypatch.setattr(module, "_count", None)
    assert native.get_num_threads() == 3


def test_the_default_number_of_threads_respects_affinity() -> None:
    from numr.native.threads import default_threads

    script = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nfrom numr.native.threads import *\n"
    script += "print(default_threads())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 1 <= default_threads()


def test_blas_follows_the_number_of_threads() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = native.get_num_threads()
    assert native.limit_blas()
    try:
        native.set_num_threads(1)
        blas = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
        assert {pool["num_threads"] for pool in blas} == {1}
    finally:
        native.set_num_threads(before)
