"""Makes session logs that are trees of lines, together with what a reader must find in them.

The log is written as an agent would write it: prompts, answers in several lines with parallel calls, rewinds to any
earlier place, compactions of three kinds, sub-agents' lines in between, hidden attachments, a resumed session that
copies its history, and children that are written before their parents.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from support.session_log import JsonObject, aside, attachment, boundary, call, line, result, say, summary

_STEPS = [*["prompt"] * 4, *["answer"] * 5, "rewind", "compaction", "root", "keep", "side", "attach", "aside", "copy"]
# A step of the session, and numbers that choose its details.
SESSIONS = st.lists(st.tuples(st.sampled_from(_STEPS), st.integers(0, 1_000), st.integers(0, 3)), max_size=40)


@dataclass
class Place:
    """Where a later line may follow: the expected context, and the lines that led there."""

    uuid: str | None
    context: list[str]
    chain: list[JsonObject]
    is_compacted: bool = False


@dataclass
class Log:
    """A made-up log. `context` names the messages that the model would be sent last, `said` every message."""

    lines: list[JsonObject] = field(default_factory=list[JsonObject])
    said: list[str] = field(default_factory=list[str])
    usages: dict[str, int] = field(default_factory=dict[str, int])
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    is_rewound: bool = False
    now: Place = field(default_factory=lambda: Place(None, [], []))
    uuids_of: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def write(self, written: JsonObject) -> None:
        """Adds a line at the next moment."""
        moment = datetime(2026, 1, 2, tzinfo=UTC) + timedelta(seconds=len(self.lines))
        self.lines.append(written | {"timestamp": moment.isoformat()})

    def go_on(self, name: str, written: list[JsonObject], context: list[str] | None = None) -> None:
        """Adds lines that became the message `name`, and continues after them."""
        self.is_rewound = False
        start = len(self.lines)
        for one in written:
            self.write(one)
        chain = [*self.now.chain, *self.lines[start:]]
        self.said.append(name)
        self.uuids_of[name] = [one["uuid"] for one in written]
        context = [*self.now.context, name] if context is None else context
        self.now = Place(written[-1]["uuid"], context, chain, self.now.is_compacted)
        self.places.update(dict.fromkeys((one["uuid"] for one in written), self.now))


def make_log(session: list[tuple[str, int, int]]) -> Log:
    """Writes the session's log."""
    log = Log()
    for number, (step, choice, count) in enumerate(session):
        _MAKERS[step](log, f"n{number}", choice, count)
    _put_children_first(log, sum(choice for _, choice, _ in session))
    return log


def to_bytes(lines: list[JsonObject]) -> bytes:
    """Returns the lines as a file."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


def _prompt(log: Log, name: str, _: int, __: int) -> None:
    log.go_on(name, [line("user", name, log.now.uuid, f"text of {name}")])


def _answer(log: Log, name: str, choice: int, count: int) -> None:
    if not log.now.context:
        return
    ended = {"stop_reason": "tool_use" if count else "end_turn"} if choice % 2 else {}
    parts = [say(f"text of {name}"), *(call(f"{name}-{index}") for index in range(count))]
    lines: list[JsonObject] = []
    for index, part in enumerate(parts):
        parent = lines[-1]["uuid"] if lines else log.now.uuid
        usage = {"input_tokens": 100, "output_tokens": index + 1}
        lines.append(line("assistant", f"{name}a{index}", parent, [part], id=name, usage=usage, **ended))
    results = [
        line("user", f"{name}r{index}", f"{name}a{index + 1}", [result(f"{name}-{index}")]) for index in range(count)
    ]
    if choice % 3 == 1:
        results.reverse()
    elif choice % 3 == 2 and count and not ended:
        # The first result comes before the next line of the answer.
        lines.insert(2, results.pop(0))
    elif choice % 5 == 0 and results:
        results.pop()
    context = [*log.now.context, name]
    log.usages[name] = 100 + len(parts)
    written = [*lines, *results]
    has_results = any(one["type"] == "user" for one in written)
    log.go_on(name, written, [*context, f"{name}r"] if has_results else context)
    if has_results:
        log.said.append(f"{name}r")
        log.uuids_of[f"{name}r"] = [one["uuid"] for one in written if one["type"] == "user"]
        log.uuids_of[name] = [one["uuid"] for one in written if one["type"] != "user"]


def _rewind(log: Log, _: str, choice: int, __: int) -> None:
    places = list({id(place): place for place in log.places.values()}.values())
    if places:
        log.now = places[choice % len(places)]
        log.is_rewound = True


def _compaction(log: Log, name: str, choice: int, __: int) -> None:
    if log.now.uuid is None:
        return
    log.write(boundary(f"{name}b", log.now.uuid, trigger="auto", preTokens=choice))
    _summarize(log, name, f"{name}b", [])


def _root(log: Log, name: str, _: int, __: int) -> None:
    if log.now.uuid is not None:
        _summarize(log, name, None, [])


def _keep(log: Log, name: str, choice: int, count: int) -> None:
    messages = [kept for kept in log.now.context if kept in log.uuids_of]
    kept = messages[-1 - count :]
    # The last message before a compaction is always kept: the next line names it as its parent.
    if not kept or log.now.uuid not in log.uuids_of[kept[-1]]:
        return
    uuids = [uuid for message in kept for uuid in log.uuids_of[message]]
    segment = {"headUuid": uuids[0], "anchorUuid": name, "tailUuid": log.now.uuid}
    log.write(
        boundary(
            f"{name}b",
            log.now.uuid,
            preTokens=choice,
            preservedSegment=segment,
            preservedMessages={"anchorUuid": name, "uuids": uuids},
        )
    )
    _summarize(log, name, f"{name}b", kept)
    # From now on these lines are after the compaction: no line can continue from them as they were before.
    for line_id in [line_id for line_id, place in log.places.items() if place.uuid in uuids and place is not log.now]:
        del log.places[line_id]
    for index, message in enumerate(kept[:-1]):
        context = [f"{name}-marker", *kept[: index + 1]]
        place = Place(log.uuids_of[message][-1], context, [], is_compacted=True)
        log.places.update(dict.fromkeys(log.uuids_of[message], place))
    log.places.update(dict.fromkeys(log.uuids_of[kept[-1]], log.now))


def _summarize(log: Log, name: str, parent: str | None, kept: list[str]) -> None:
    tail = log.now.uuid
    log.is_rewound = False
    log.write(summary(name, parent, f"text of {name}"))
    log.now = Place(tail if kept else name, [f"{name}-marker", *kept], [], is_compacted=True)
    log.places[name] = log.now


def _side(log: Log, name: str, choice: int, count: int) -> None:
    for index in range(count):
        parent = f"{name}s{index - 1}" if index else None
        # Only early versions write such lines before the first line of the main conversation.
        said = {"isSidechain": True} | ({"agentId": f"agent{choice}"} if log.places else {})
        log.write(line("user", f"{name}s{index}", parent, f"text of {name}s{index}", **said))


def _attach(log: Log, name: str, _: int, __: int) -> None:
    # What is attached elsewhere than at the last message waits for the next message: it may not be a rewind.
    if log.now.uuid is None or not log.now.context or log.is_rewound:
        return
    log.write(attachment(name, log.now.uuid, content=[f"text of {name}"]))
    log.said.append(name)
    log.now.context.append(name)
    log.now.chain.append(log.lines[-1])
    log.now.uuid = name
    log.uuids_of[name] = [name]
    log.places[name] = log.now


def _aside(log: Log, name: str, _: int, __: int) -> None:
    if log.now.uuid is not None:
        log.write(aside("system", name, log.now.uuid, subtype="turn_duration"))
        log.now.chain.append(log.lines[-1])
        log.now.uuid = name
        log.places[name] = log.now


def _copy(log: Log, name: str, _: int, __: int) -> None:
    """A resumed session writes its history again under new ids, at the old times."""
    if log.now.is_compacted:
        return
    new = {one["uuid"]: f"{name}-{one['uuid']}" for one in log.now.chain}
    copies = [one | {"uuid": new[one["uuid"]], "parentUuid": new.get(one["parentUuid"])} for one in log.now.chain]
    log.lines += copies
    if copies:
        log.now.chain[:] = copies
        log.now.uuid = copies[-1]["uuid"]
        log.places[str(copies[-1]["uuid"])] = log.now


def _put_children_first(log: Log, choice: int) -> None:
    """Swaps some lines with their child that follows at once."""
    at = choice % 3
    while at + 1 < len(log.lines):
        parent, child = log.lines[at], log.lines[at + 1]
        swaps = parent.get("subtype") is None and not parent.get("isCompactSummary") and not parent["isSidechain"]
        if swaps and child["parentUuid"] == parent["uuid"]:
            log.lines[at : at + 2] = [child, parent]
        at += 3


_MAKERS = {
    "prompt": _prompt,
    "answer": _answer,
    "rewind": _rewind,
    "compaction": _compaction,
    "root": _root,
    "keep": _keep,
    "side": _side,
    "attach": _attach,
    "aside": _aside,
    "copy": _copy,
}
