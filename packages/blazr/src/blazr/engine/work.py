"""What a lane runs: anything that can say whether it has something to do and do a short piece of it."""

from typing import Protocol

__all__ = ["Work"]


class Work(Protocol):
    """One kind of work of a lane. All methods but `active` run on the lane's thread.

    A lane gives every kind that is pending one `run` in turn, so kinds share a model fairly as long as each piece is
    short (about 250 ms).
    """

    @property
    def active(self) -> int:
        """Requests queued or running. Read from other threads."""
        ...

    def pending(self) -> bool:
        """Whether `run` has something to do now."""
        ...

    def run(self) -> None:
        """Do one piece. Errors that belong to a request are delivered to it, not raised."""
        ...

    def fail(self, error: Exception) -> None:
        """End every request, queued or running, with `error`."""
        ...
