"""How many threads native jobs and BLAS may use: one number per process. Starts no thread itself."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

from numr.errors import NativeError

_count: int | None = None
_listeners: list[Callable[[int], object]] = []


def get_num_threads() -> int:
    """The threads a native job may use, the caller's included: what was set, else NUMR_NUM_THREADS, else the cores.

    Raises NativeError where the variable is not a positive number.
    """
    global _count
    if _count is None:
        _count = _from_environment() or default_threads()
    return _count


def set_num_threads(n: int) -> None:
    """Use `n` threads, the caller's included, from the next job on. Raises NativeError unless 1 <= n <= 256."""
    global _count
    if not 1 <= n <= 256:
        raise NativeError(f"the number of threads must be between 1 and 256, got {n}")
    _count = n
    for listener in _listeners:
        listener(n)


def on_change(listener: Callable[[int], object]) -> None:
    """Call `listener(n)` now and whenever the number changes."""
    _listeners.append(listener)
    listener(get_num_threads())


_limited = False


def limit_blas() -> bool:
    """Hold BLAS to the same number of threads from now on, where threadpoolctl is installed; False where it is not.

    Meant for the first large product: it looks at every library of the process, which takes milliseconds.
    """
    global _limited
    if not _limited:
        try:
            import threadpoolctl
        except ImportError:
            return False
        _limited = True
        on_change(lambda n: threadpoolctl.threadpool_limits(n, user_api="blas"))
    return True


def _from_environment() -> int | None:
    value = os.environ.get("NUMR_NUM_THREADS", "").strip()
    if not value:
        return None
    if not value.isdecimal() or not 1 <= int(value) <= 256:
        raise NativeError(f"NUMR_NUM_THREADS={value!r} must be a number from 1 to 256")
    return int(value)


def default_threads() -> int:
    """Physical cores that this process may run on, fewer where a control group allows less processor time."""
    try:
        cpus = os.sched_getaffinity(0)
    except AttributeError:
        cpus = set(range(os.cpu_count() or 1))
    cores = len({_core(cpu) for cpu in cpus})
    quota = _quota()
    return max(1, min(cores, 256, math.ceil(quota)) if quota else min(cores, 256))


def _core(cpu: int) -> tuple[str, str]:
    # Hardware threads of one core share both numbers; where they are not told, each counts as a core.
    topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
    try:
        return (topology / "physical_package_id").read_text().strip(), (topology / "core_id").read_text().strip()
    except OSError:
        return "", str(cpu)


def _quota() -> float | None:
    # cgroup v2: "<quota> <period>" in microseconds, or "max <period>".
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else int(quota) / int(period)
