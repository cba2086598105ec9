"""Tests summaries on a reader who has not seen the sessions: `./scripts/reading_test write FOLDER [FILE|FOLDER…]`.

1. `write` makes the texts, in an order that does not show whose they are: Ullage's context after a compaction and, at
   recorded compactions, the agent's own summary of the same size. Twenty places (`--places`): all recorded compactions
   first, then three quarters through the longest other sessions, at 4,000 tokens. For more texts of the same sessions,
   `--share 0.45` takes other places: that share of the tokens of each session, and no recorded compaction.
2. The reader reads `texts/NN.md` alone, from top to bottom, and answers the five questions in `answers.csv`. "The text
   does not say" is an answer.
3. A judge, who may be the same person after all answers are written, compares each answer with `truth/NN.md`: what the
   user asked, what the calls did and how they ended before the place, and what happened after it. The judge writes
   into the column `right`: 1, 0.5 or 0, or `-` if the session has no answer to the question.
4. `score` prints the rate right per question, Ullage's next to the agents' own.

The texts are of recorded sessions, so FOLDER must be outside the repository. `key.json` says whose each text is; it is
for `score`, and not to be read before the end.
"""

import argparse
import asyncio
import csv
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benches.__main__ import show
from benches.quality import OURS, THEIRS
from benches.quality_probe import text_of
from benches.quality_reading_truth import write_truth
from benches.quality_sessions import COUNTER, Recorded, fit_once, read_recorded
from benches.report import Report, at_least
from ullage.model.marker import render_marker

QUESTIONS = {
    "asked": "What does the user ask for now?",
    "done": "What is done already?",
    "failed": "What failed, why, and is it mended?",
    "next": "What is the next step?",
    "not": "What must not be done? (prohibitions, corrections, decisions against)",
}
PLACES, ROOM, SHARE = 20, 4_000, 0.75
# Tokens before the place. A session that the room nearly holds needs no summary.
_SMALLEST = 2 * ROOM
AIM = 90
_ROOT = Path(__file__).resolve().parents[2]
_COLUMNS = ("text", "question", "answer", "right")


class Place(Struct, frozen=True, kw_only=True):
    """Where a session is compacted: before message `at`, to `room` tokens. `own` is the agent's summary, empty if it
    made none there."""

    recorded: Recorded
    at: int
    room: int
    own: str = ""


class Key(Struct, frozen=True, kw_only=True):
    """Whose a text is, and the session and message that it is of."""

    whose: str
    session: str
    at: int


def choose_places(recorded: Sequence[Recorded], count: int, share: float | None = None) -> list[Place]:
    """Returns up to `count` places: recorded compactions, then one in each of the longest other sessions. With a share,
    returns one in each of the longest sessions, after that share of its tokens."""
    real = [
        Place(recorded=each, at=c.at, room=COUNTER.count(render_marker(c.block)), own=render_marker(c.block))
        for each in recorded
        for c in (each.compactions if share is None else ())
    ]
    others = (each for each in recorded if share is not None or not each.compactions)
    share = SHARE if share is None else share
    cut = [
        Place(recorded=each, at=at, room=ROOM)
        for each in sorted(others, key=lambda each: -sum(each.tokens))
        if sum(each.tokens) * share >= _SMALLEST and (at := each.place(share * sum(each.tokens))) is not None
    ]
    return [*real, *cut][:count]


def write(folder: Path, paths: Sequence[Path], count: int, share: float | None = None) -> int:
    """Writes texts, truths, the sheet and the key, and returns the number of texts. Raises `ValueError` for a folder
    in the repository."""
    if folder.resolve().is_relative_to(_ROOT):
        raise ValueError("the texts are of recorded sessions: name a folder outside the repository")
    places = choose_places(read_recorded(paths), count, share)
    texts = [(place, whose) for place in places for whose in ((OURS, THEIRS) if place.own else (OURS,))]
    random.Random(len(texts)).shuffle(texts)
    for name in ("texts", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    keys: dict[str, Key] = {}
    for number, (place, whose) in enumerate(texts, start=1):
        name = f"{number:02}"
        messages = place.recorded.messages
        (folder / "texts" / f"{name}.md").write_text(_text(place, whose), encoding="utf-8")
        (folder / "truth" / f"{name}.md").write_text(write_truth(messages, place.at), encoding="utf-8")
        keys[name] = Key(whose=whose, session=place.recorded.name, at=place.at)
    (folder / "key.json").write_bytes(msgspec.json.format(msgspec.json.encode(keys)))
    _write_sheet(folder / "answers.csv", keys)
    return len(texts)


def _text(place: Place, whose: str) -> str:
    if whose == THEIRS:
        return place.own
    fitted = asyncio.run(fit_once(place.recorded.messages[: place.at], place.room))
    shown = (
        render_marker(block) if (block := message.compaction) else f"[{message.role}] {text_of(message)}"
        for message in fitted.messages
    )
    return "\n\n".join(shown)


def _write_sheet(path: Path, names: Iterable[str]) -> None:
    """Writes a sheet with a line per text and question; a sheet that is there already is kept."""
    if path.exists():
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        sheet = csv.writer(file)
        sheet.writerow(_COLUMNS)
        sheet.writerows((name, question, "", "") for name in names for question in QUESTIONS.values())


def score(folder: Path) -> Report:
    """Returns a row per kind of text with the rate right of each question, in percent, of the answers judged. Raises
    `ValueError` for a judgement that is none of 1, 0.5, 0 and `-`."""
    keys = msgspec.json.decode((folder / "key.json").read_bytes(), type=dict[str, Key])
    with (folder / "answers.csv").open(newline="", encoding="utf-8") as file:
        judged = list(_judged(csv.DictReader(file)))
    rows: list[dict[str, object]] = []
    # Where there is an agent's own summary, Ullage's text of the same place is compared with it.
    shared = {(key.session, key.at) for key in keys.values() if key.whose == THEIRS}
    same = {name for name, key in keys.items() if (key.session, key.at) in shared}
    for title, whose, names in (
        (OURS, OURS, set(keys)),
        (f"{OURS}, where the agent's own is", OURS, same),
        (THEIRS, THEIRS, same),
    ):
        own = {name for name in names if keys[name].whose == whose}
        by = {q: [right for name, asked, right in judged if name in own and asked == q] for q in QUESTIONS.values()}
        every = [right for rights in by.values() for right in rights]
        if every:
            rates = {short: 100 * sum(by[q]) / len(by[q]) if by[q] else None for short, q in QUESTIONS.items()}
            rows.append({"text": title, "answers": len(every), **rates, "right": 100 * sum(every) / len(every)})
    aims = [at_least("answers right", float(str(row["right"])), AIM) for row in rows if row["text"] == OURS]
    return Report(bench="reading", rows=rows, aims=aims)


def _judged(lines: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str, float]]:
    for line in lines:
        right = line["right"].strip()
        if right not in ("", "-"):
            if right not in ("1", "0.5", "0"):
                raise ValueError(f"text {line['text']}: {right!r} is none of 1, 0.5, 0 and -")
            yield line["text"], line["question"], float(right)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/reading_test", description=__doc__)
    parser.add_argument("what", choices=("write", "score"))
    parser.add_argument("folder", type=Path, help="where the texts, the sheet and the key are; outside the repository")
    parser.add_argument("paths", nargs="*", type=Path, help="transcripts or folders of them")
    parser.add_argument("--places", type=int, default=PLACES, help="at how many places sessions are compacted")
    parser.add_argument("--share", type=float, help="cut each session after this share of its tokens")
    given = parser.parse_intermixed_args()
    try:
        if given.what == "write":
            print(f"{write(given.folder, given.paths, given.places, given.share)} texts in {given.folder / 'texts'}")
        else:
            show(score(given.folder))
    except (ValueError, OSError) as error:
        print(f"reading_test: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
