"""Files that the agent has tried to change again and again, without success."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.calls import touches_of
from ullage.agents.outcomes import was_refused
from ullage.model.artifacts import FileAction
from ullage.model.message import number_of
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.excerpts import clip, single_spaced

# One failure is followed by a look at the file and a second try. After two the agent does not know what is wrong.
_FEWEST = 2
_MOST_FILES = 3
# Characters of what the tool said. Some tools repeat the text that they did not find.
_SAID = 120


class _Tries(Struct, frozen=True, kw_only=True):
    """The failed changes of a file since it was last changed: how many, the messages of the first and the last call,
    and the first line of the last result."""

    count: int
    first: int
    last: int
    said: str


def failed_changes(digest: Digest) -> Iterator[Item]:
    """Yields an item for each file of which at least two changes failed and none has worked since, the newest last.
    Calls that the user refused did not fail, and failed commands are listed elsewhere."""
    tries: dict[str, _Tries] = {}
    for part in (digest, *([digest.after] if digest.after else [])):
        for call, touches in zip(part.calls, part.touches, strict=True):
            for path in [path for path, action in touches if action is not FileAction.READ]:
                tries.pop(path, None)
            if not call.failed or call.command or was_refused(call.result):
                continue
            for path, action in touches_of(replace(call, failed=None, result="")):
                if action is not FileAction.READ:
                    before = tries.pop(name := clean(path), None)
                    tries[name] = _Tries(
                        count=before.count + 1 if before else 1,
                        first=before.first if before else call.index,
                        last=call.index,
                        said=_first_line(call.result),
                    )
    repeated = [(path, each) for path, each in tries.items() if each.count >= _FEWEST]
    for path, each in repeated[-_MOST_FILES:]:
        text = f"{each.count} changes of {path} failed since #{number_of(each.first)}, and none has worked: {each.said}"
        yield Item(
            section=Section.STATE, text=text, index=min(each.last, digest.end_index - 1), anchors=find_anchors(text)
        )


def _first_line(result: str) -> str:
    line = result.strip().split("\n", 1)[0].replace("`", "'")
    return clip(single_spaced(clean(line)), _SAID)
