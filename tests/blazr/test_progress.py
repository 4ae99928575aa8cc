"""Progress in a log: ten lines at most, and never backwards."""

import io

import pytest

from blazr.progress import ByteProgress, format_bytes


def test_plain_lines_at_ten_percent_steps() -> None:
    stream = io.StringIO()
    with ByteProgress("tiny", stream) as progress:
        for done in range(0, 1001):
            progress(done, 1000)
    lines = stream.getvalue().splitlines()
    assert lines == [f"tiny: {percent} % of 1000 B" for percent in range(10, 101, 10)]


def test_progress_never_goes_backwards() -> None:
    stream = io.StringIO()
    progress = ByteProgress("tiny", stream)
    for done in (50, 20, 50, 49, 90, 10):
        progress(done, 100)
    assert stream.getvalue().splitlines() == ["tiny: 50 % of 100 B", "tiny: 90 % of 100 B"]


def test_a_phase_counts_anew() -> None:
    stream = io.StringIO()
    progress = ByteProgress("downloading", stream)
    progress(10, 10)
    progress.phase("verifying")
    progress(5, 10)
    assert stream.getvalue().splitlines() == ["downloading: 100 % of 10 B", "verifying: 50 % of 10 B"]


def test_quiet_and_empty_say_nothing() -> None:
    stream = io.StringIO()
    ByteProgress("a", stream, quiet=True)(1, 2)
    ByteProgress("b", stream)(0, 0)
    assert stream.getvalue() == ""


def test_short_work_can_stay_silent() -> None:
    stream = io.StringIO()
    progress = ByteProgress("tiny", stream, after=60.0)
    progress(10, 10)
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("blazr.progress.BAR_AFTER_SECONDS", 0.0)
    stream = Terminal()
    with ByteProgress("tiny", stream) as progress:
        progress(512, 1024)
    assert "tiny" in stream.getvalue()
    assert "0.5/1.0 KiB" in stream.getvalue()


def test_bytes_for_people() -> None:
    assert [format_bytes(n) for n in (0, 1023, 1536, 5 << 30, 3 << 40)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 GiB",
        "3.0 TiB",
    ]
