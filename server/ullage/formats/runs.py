"""Files that hold several conversations: which of them is read."""

from collections.abc import Sequence

from ullage.model.errors import InvalidRequest


def choose_run(sizes: Sequence[int], run: int | None, name: str) -> int:
    """The index of the run asked for (counted from 1), or of the longest, the first of equals.

    `sizes` are the runs' numbers of messages. Raises `InvalidRequest` for a run that the file does not hold.
    """
    if run is None:
        return max(range(len(sizes)), key=lambda index: (sizes[index], -index), default=0)
    if not 1 <= run <= len(sizes):
        raise InvalidRequest(f"{name}: there is no run {run}; the file holds runs 1 to {len(sizes)}")
    return run - 1
