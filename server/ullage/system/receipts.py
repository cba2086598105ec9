"""The receipts of what `ullage hook` gave back, from the files that the hooks write (`ullage.cli.hooks.given`)."""

from pathlib import Path

import msgspec

from ullage.service.ports.given_back import GivenBack


class Receipts:
    """The receipts next to the store at `store`."""

    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(f"{store.name}.given")

    def __call__(self, agent_session_id: str, /) -> tuple[GivenBack, ...]:
        """Returns those of the session with this id of its agent, the oldest first. Lines that can't be read are left
        out; without a file there are none."""
        if not agent_session_id or Path(agent_session_id).name != agent_session_id:
            return ()
        try:
            lines = (self._folder / f"{agent_session_id}.jsonl").read_bytes().splitlines()
        except (OSError, ValueError):
            return ()
        return tuple(receipt for line in lines if (receipt := _receipt(line)) is not None)


def _receipt(line: bytes) -> GivenBack | None:
    try:
        return msgspec.json.decode(line, type=GivenBack)
    except msgspec.MsgspecError:
        return None
