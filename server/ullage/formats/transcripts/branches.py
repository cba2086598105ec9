"""The branches of a conversation in which the user went back to an earlier message."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct


class Rewind(Struct, frozen=True, kw_only=True):
    """What going back to an earlier message changes: pairs of an edit's id and whether the edit is undone (True) or in
    force again (False), and the ids of the messages that leave the context."""

    reverted: tuple[tuple[str, bool], ...]
    left_out: tuple[str, ...]


class _Place(Struct, frozen=True):
    """A message, a compaction or another edit of a branch: its number in the order of the file, the id of the place
    before it, and what is in force right after it: the compactions, oldest first, and the edits of single messages, by
    message."""

    number: int
    before: str
    compactions: tuple[str, ...]
    edits: Mapping[str, str]


_BEGINNING = _Place(-1, "", (), {})


def kept_place(edit_id: str, message_id: str) -> str:
    """Returns the id of the place right after a message that a compaction kept. Going back to this place leaves the
    compaction in force; going back to the message's own id does not."""
    return f"{edit_id} keeps {message_id}"


class Branches:
    """The branches of a conversation in which the user went back to an earlier message and continued from there. Knows
    for every message and compaction which messages lead to it. System prompts belong to no branch."""

    def __init__(self) -> None:
        self.tip = ""
        self._places: dict[str, _Place] = {}
        self._kept: dict[str, str] = {}
        self._compactions: tuple[str, ...] = ()
        self._edits: Mapping[str, str] = {}
        self._left_out: dict[str, frozenset[str]] = {}

    @property
    def rewinds(self) -> frozenset[str]:
        """The ids of the edits that leave messages out, as `leave_out` was given them, without those undone since."""
        return frozenset(self._left_out)

    def add(self, message_id: str) -> None:
        """Adds a message after the tip, the last place of the present branch, and makes it the tip."""
        self._places[message_id] = _Place(len(self._places), self.tip, self._compactions, self._edits)
        self.tip = message_id

    def compact(self, edit_id: str, kept: Iterable[str] = ()) -> None:
        """Adds a compaction of everything up to the tip. The messages with an id in `kept` stay in the context after
        it."""
        self._compactions = (*self._compactions, edit_id)
        self.add(edit_id)
        for message_id in kept:
            place = kept_place(edit_id, message_id)
            self._kept[place] = message_id
            self.add(place)

    def edit(self, edit_id: str, message_id: str) -> str:
        """Adds an edit of one message, which takes the place of an earlier one. Returns the id of that, or "" if there
        is none."""
        earlier = self._edits.get(message_id, "")
        self._edits = {**self._edits, message_id: edit_id}
        self.add(edit_id)
        return earlier

    def edit_of(self, message_id: str) -> str:
        """Returns the id of the edit of a message that is in force, or "" if there is none."""
        return self._edits.get(message_id, "")

    def leave_out(self, edit_id: str, message_ids: tuple[str, ...]) -> None:
        self._left_out[edit_id] = frozenset(message_ids)

    def comes_from(self, to: str) -> bool:
        """Returns whether the present branch goes through a message or compaction, with the same compactions in force
        there as now. True if it is unknown."""
        place = self._places.get(to)
        return place is None or (place.compactions == self._compactions and to in self._climb(self.tip, until=()))

    def has_archived(self, to: str) -> bool:
        """Returns whether the present branch goes through a message that a compaction in force has archived since."""
        place = self._places.get(to)
        return place is not None and not self.comes_from(to) and to in self._climb(self.tip, until=())

    def rewind(self, to: str) -> Rewind:
        """Makes the message, compaction or edit `to` the tip, or the beginning if `to` is unknown. Returns what this
        changes."""
        place = self._places.get(to, _BEGINNING)
        compactions, edits = place.compactions, place.edits
        wanted = {self._kept.get(known, known) for known in self._climb(to, until=compactions[-1:])}
        now, then = (*self._compactions, *self._edits.values()), (*compactions, *edits.values())
        reverted = [(edit_id, True) for edit_id in now if edit_id not in then]
        reverted += [(edit_id, False) for edit_id in then if edit_id not in now]
        for edit_id in [edit_id for edit_id, gone in self._left_out.items() if gone & wanted]:
            reverted.append((edit_id, True))
            del self._left_out[edit_id]
        gone = frozenset[str]().union(*self._left_out.values())
        # A compaction in force covers everything before it.
        first = self._places[compactions[-1]].number + 1 if compactions else 0
        after = (known for known, at in self._places.items() if at.number >= first and not self._is_edit(known))
        said = (self._kept.get(known, known) for known in after)
        left_out = tuple(dict.fromkeys(message for message in said if message not in wanted and message not in gone))
        self.tip = to if to in self._places else ""
        self._compactions, self._edits = compactions, edits
        return Rewind(reverted=tuple(reverted), left_out=left_out)

    def _climb(self, tip: str, until: tuple[str, ...]) -> Iterator[str]:
        while tip in self._places and tip not in until:
            yield tip
            tip = self._places[tip].before

    def _is_edit(self, known: str) -> bool:
        place = self._places[known]
        return known in place.compactions or known in place.edits.values()
