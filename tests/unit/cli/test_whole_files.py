"""Files that hooks and status lines write as a whole while others do the same."""

import os
from pathlib import Path

import pytest

from ullage import host
from ullage.host import write_whole


def test_a_link_that_waits_under_the_name_of_the_temporary_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, place = tmp_path / "theirs", tmp_path / "said.json"
    theirs.write_text("theirs", "utf-8")
    monkeypatch.setattr(host.time, "time_ns", lambda: 1)
    for name in (f"{place}.{os.getpid()}", f"{place}.{os.getpid()}.1"):
        Path(name).symlink_to(theirs)
    with pytest.raises(FileExistsError):
        write_whole(str(place), b"ours")
    assert (theirs.read_text("utf-8"), place.exists()) == ("theirs", False)


def test_a_process_of_the_same_id_in_another_container_keeps_its_file(tmp_path: Path) -> None:
    place = tmp_path / "said.json"
    other = Path(f"{place}.{os.getpid()}")
    other.write_text("half of what", "utf-8")
    write_whole(str(place), b"ours")
    assert (place.read_bytes(), other.read_text("utf-8")) == (b"ours", "half of what")
    assert sorted(tmp_path.iterdir()) == sorted([place, other])
