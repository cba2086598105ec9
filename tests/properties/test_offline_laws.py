"""Laws of machines that lose the server of their store now and then."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from support.logs import conversation, fork, message
from support.machines import Machine
from ullage.model.errors import StoreUnavailable
from ullage.model.events import MessageAppended
from ullage.store import SqliteStore, open_store

MACHINES, SESSIONS = 2, 3
_ACTS = ("add", "add", "add", "fork", "create", "cut", "lose answer", "mend", "restart", "catch up and die")
_STEPS = st.lists(
    st.tuples(st.sampled_from(range(MACHINES)), st.sampled_from(_ACTS), st.integers(0, 5), st.integers(0, 9)),
    max_size=40,
)


class Story:
    """What the machines do, with every message that was acknowledged and the one that came before it."""

    def __init__(self, folder: Path) -> None:
        self._server = folder / "server.db"
        with open_store(self._server) as store:
            for number in range(SESSIONS):
                store.create(f"s{number}", conversation(f"begin {number}"))
        self.machines: list[Machine] = []
        for number in range(MACHINES):
            own = folder / f"{number}"
            own.mkdir()
            self.machines.append(Machine(own, self._server))
        self.acknowledged: dict[str, str | None] = {}

    def close(self) -> None:
        for machine in self.machines:
            machine.close()

    def step(self, machine: Machine, act: str, which: int, place: int) -> None:
        names = machine.store.find_ids("")
        name = names[which % len(names)] if names else ""
        match act:
            case "add" | "fork" if not names:
                pass
            case "add":
                self._add(machine, name)
            case "fork":
                self._fork(machine, name, place)
            case "create":
                new = f"n{len(self.acknowledged)}"
                machine.store.create(f"s-{new}", conversation()[:1])
                self._add(machine, f"s-{new}")
            case "cut":
                machine.line.is_cut = True
            case "lose answer":
                machine.line.loses_answer = not machine.line.is_cut
            case "mend":
                machine.mend()
            case "restart":
                machine.restart()
            case _:
                machine.die_in_catching_up(place * 3)

    def _add(self, machine: Machine, name: str) -> None:
        new, before = f"a{len(self.acknowledged)}", last_message(machine, name)
        try:
            machine.add(name, message(new))
        except StoreUnavailable:
            # It is not whole on this machine.
            return
        self.acknowledged[new] = before

    def _fork(self, machine: Machine, name: str, place: int) -> None:
        try:
            log = machine.store.read(name)
        except StoreUnavailable:
            return
        at = min(place, len(log) - 1)
        shown = [r.event.message.id for r in log[: at + 1] if isinstance(r.event, MessageAppended)]
        new = f"a{len(self.acknowledged)}"
        machine.store.create(f"f-{new}", fork(name, at, message(new)))
        self.acknowledged[new] = shown[-1] if shown else None


def last_message(machine: Machine, name: str) -> str | None:
    try:
        log = machine.store.read(name)
    except StoreUnavailable:
        return None
    return next((r.event.message.id for r in reversed(log) if isinstance(r.event, MessageAppended)), None)


def own_messages(store: SqliteStore) -> list[str]:
    """Returns the ids of the messages of all sessions, inherited ones left out."""
    rows = store.copied_sessions()
    return [record[4] for row in rows for record in store.copied_records(row.session_id, -1, 1_000) if record[4]]


@given(_STEPS)
@settings(max_examples=25, deadline=None)
def test_whatever_fails_between_machines_every_acknowledged_message_is_kept_once_and_in_its_place(
    steps: list[tuple[int, str, int, int]],
) -> None:
    with TemporaryDirectory() as folder:
        story = Story(Path(folder))
        with closing(story):
            for number, act, which, place in steps:
                story.step(story.machines[number], act, which, place)
            for machine in story.machines:
                machine.mend()
        with open_store(Path(folder) / "server.db") as server:
            kept = own_messages(server)
            assert sorted(one for one in kept if one.startswith("a")) == sorted(story.acknowledged)
            assert kept.count("m0") == SESSIONS
            logs = [
                [r.event.message.id for r in server.read(name) if isinstance(r.event, MessageAppended)]
                for name in server.find_ids("")
            ]
            for log in logs:
                for at, one in enumerate(log):
                    if one in story.acknowledged:
                        assert (log[at - 1] if at else None) == story.acknowledged[one]
            for machine in story.machines:
                assert machine.unsent() == ()
