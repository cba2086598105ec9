"""A page: the part of a summary chosen so far. Items are added while they fit, the most valuable per token first."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Protocol

from ullage.model.artifacts import ArtifactLedger
from ullage.model.marker import render_ledger
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import HEADINGS, Item, Section, WrittenLines, write_group, write_item, write_section
from ullage.summary.tuning import CHARACTERS_PER_TOKEN, TUNING, Tuning
from ullage.tokens.counter import TokenCounter

# If this many candidates in a row do not fit, the page counts as full.
_PATIENCE = 60
# What every entry needs in addition to its text: list mark, index and line break. In characters, and then in tokens.
_FRAME = 12
_ENTRY = _FRAME // CHARACTERS_PER_TOKEN
NO_LEDGER = ArtifactLedger()
# A member of an enumeration is looked up more slowly.
_DETAILS = Section.DETAILS


class Around(Protocol):
    """What else of an item's text competes with the items of a page."""

    def __call__(self, item: Item) -> Iterable[Item]:
        """Returns what continues an item on the page."""
        ...

    def instead(self, item: Item, worth: Mapping[str, float]) -> Item | None:
        """Returns what comes in place of an item that lost worth, by what each anchor is worth now. None if nothing
        does."""
        ...


class Ranking:
    """Items that compete for the room of a page. `heap` has the place of each that is not on the page yet after what it
    is worth per character, negative so that the heap begins with the one that is worth most."""

    def __init__(self, items: list[Item], heap: list[tuple[float, int]], around: Around | None) -> None:
        self.items = items
        self.heap = heap
        self.around = around

    def add(self, item: Item, worth: float) -> None:
        """Adds an item that is worth so much per character."""
        heapq.heappush(self.heap, (-worth, len(self.items)))
        self.items.append(item)


class Page:
    """The items chosen for a summary so far, after which the `ledger` is written. `used` is the number of tokens that
    they take, less what the ledger no longer says because of them; `room` is the most that they may take. `weights` are
    the anchors' weights."""

    def __init__(  # noqa: PLR0913 - what is written, and how
        self,
        room: int,
        weights: Mapping[str, float],
        counter: TokenCounter,
        check: Check = go_on,
        tuning: Tuning = TUNING,
        *,
        ledger: ArtifactLedger = NO_LEDGER,
    ) -> None:
        self._ledger = ledger
        self._ledger_tokens = counter.count(render_ledger(ledger))
        self.room = room - self._ledger_tokens
        self.used = 0
        self._counter = counter
        self._check = check
        # What each anchor is still worth: nothing once it is covered.
        self._worth = _Worth(weights, unknown=tuning.carried_weight)
        self._worth_of = self._worth.__getitem__
        self._items: list[Item] = []
        # The texts of sections that have not changed since they were last written.
        self._written: dict[Section, str] = {}
        # The lines of groups of details, by the identities of their items.
        self._lines_written: WrittenLines = {}
        # The texts of the items, by section.
        self._texts: list[set[str]] = [set() for _ in Section]
        self._groups: set[tuple[str, int]] = set()
        self._lines: dict[tuple[str, int], set[int]] = {}
        self._covered: set[str] = set()

    @property
    def items(self) -> Sequence[Item]:
        """The chosen items, in the order in which they were added."""
        return self._items

    @property
    def covered(self) -> set[str]:
        """The anchors that need not be mentioned again: those on the page and those passed to `cover`."""
        return self._covered

    def cover(self, names: Iterable[str]) -> None:
        """Adds anchors that the context shows anyway, so that items have no worth because of them."""
        worth, covered = self._worth, self._covered
        for name in names:
            worth[name] = 0.0
            covered.add(name)

    def place(self, items: Iterable[Item], share: int) -> None:
        """Adds items in the given order, which may take `share` more tokens. Stops at the first item that does not
        fit."""
        limit = min(self.room, self.used + share)
        for item in items:
            if not (self._is_shown(item) or self._add(item, limit)):
                break

    def fill(self, items: Iterable[Item], share: int) -> None:
        """Adds the items with the most worth per character, which may take `share` more tokens."""
        self.fill_from(self.rank(items), share)

    def rank(self, items: Iterable[Item], around: Around | None = None) -> Ranking:
        """Returns the items by what they are worth per character now. What `around` returns for an item competes with
        the others: for one on the page, and for one that lost worth."""
        beside_shown = (more for item in self._items for more in (around(item) if around else ()))
        known = [item for item in chain(items, beside_shown) if item.text not in self._texts[item.section]]
        found = list(map(self._density, checked(known, self._check, MANY)))
        heap = [(-worth, position) for position, worth in enumerate(found) if worth > 0]
        heapq.heapify(heap)
        return Ranking(known, heap, around)

    def fill_from(self, ranking: Ranking, share: int) -> None:
        """Adds the items of a ranking with the most worth per character, which may take `share` more tokens, and takes
        them out of the ranking. An item loses worth when another item brings its anchors onto the page, so each item is
        ranked again before it is added."""
        limit = min(self.room, self.used + share)
        known, heap, around, density = ranking.items, ranking.heap, ranking.around, self._density
        missed: list[tuple[float, int]] = []
        misses = 0
        while heap and misses < _PATIENCE and limit - self.used > _ENTRY:
            stale, position = heap[0]
            item = known[position]
            now = -density(item)
            if now > stale + 1e-9:
                other = around.instead(item, self._worth) if around else None
                if other is not None or _comes_later(now, heap):
                    heapq.heapreplace(heap, (now, position))
                    if other is not None:
                        ranking.add(other, density(other))
                    continue
            heapq.heappop(heap)
            self._check()
            if now >= 0 or self._is_shown(item):
                continue
            if not self._add(item, limit):
                misses += 1
                missed.append((now, position))
                continue
            misses = 0
            for more in around(item) if around else ():
                ranking.add(more, density(more))
        for place in missed:
            heapq.heappush(heap, place)

    def cost_of(self, item: Item) -> int:
        """Returns the tokens that an item takes, and its group's frame if that is not on the page yet."""
        text = write_item(item) + "\n"
        if item.group and (item.group, item.index) not in self._groups:
            text += write_group(item) + "\n"
        return self._counter.count(text)

    def cost(self, section: Section) -> int:
        """Returns the tokens that a section's heading takes."""
        return self._counter.count(HEADINGS[section] + "\n\n")

    def settle(self) -> None:
        """Sets `used` to the count of the page as it is written, because gaps and frames take fewer tokens than were
        reserved for them, and the ledger leaves out the commands whose end the page says."""
        text = "\n\n".join(self.sections())
        saved = self._ledger_tokens - self._counter.count(render_ledger(self._ledger, text))
        self.used = self._counter.count(text) - saved

    def remove_last(self) -> None:
        """Removes the item that was added last."""
        self._written.pop(self._items.pop().section, None)

    def sections(self) -> list[str]:
        """Returns the texts of the sections that have items, in the order of the summary."""
        changed: dict[Section, list[Item]] = {}
        for item in self._items:
            if item.section not in self._written:
                changed.setdefault(item.section, []).append(item)
        for section, items in changed.items():
            self._written[section] = write_section(section, items, self._lines_written)
        return [self._written[section] for section in sorted(self._written)]

    def _density(self, item: Item) -> float:
        """Returns an item's worth per character. Anchors that are already covered count nothing."""
        # Most of a page's time is spent here, so that what is looked up is looked up once.
        group = item.group
        size = len(item.text) + _FRAME
        if group and (group, item.index) not in self._groups:
            size += len(group) + _FRAME
        return (item.value + sum(map(self._worth_of, item.anchors))) / size

    def _add(self, item: Item, limit: int) -> bool:
        cost = self.cost_of(item)
        if not self._texts[item.section]:
            cost += self.cost(item.section)
        if self.used + cost > limit:
            return False
        self.used += cost
        self._items.append(item)
        self._written.pop(item.section, None)
        self._texts[item.section].add(item.text)
        self.cover(item.anchors)
        if item.group:
            self._groups.add((item.group, item.index))
        if item.section is _DETAILS:
            self._lines.setdefault((item.group, item.index), set()).update(_lines_of(item))
        return True

    def _is_shown(self, item: Item) -> bool:
        """Returns whether an item's text, or a line of a detail, is on the page already."""
        if item.text in self._texts[item.section]:
            return True
        if item.section is not _DETAILS:
            return False
        shown = self._lines.get((item.group, item.index))
        return shown is not None and not shown.isdisjoint(_lines_of(item))


class _Worth(dict[str, float]):
    """What each anchor is worth by its weight, and `unknown` for anchors without one."""

    def __init__(self, weights: Mapping[str, float], unknown: float) -> None:
        super().__init__(weights)
        self._unknown = unknown

    def __missing__(self, _: str) -> float:
        return self._unknown


def _comes_later(worth: float, heap: Sequence[tuple[float, int]]) -> bool:
    """Returns whether an entry other than the heap's first has less than this negative worth."""
    return len(heap) > 1 and (heap[1][0] < worth or (len(heap) > 2 and heap[2][0] < worth))


def _lines_of(item: Item) -> range:
    return range(item.order, item.order + item.text.count("\n") + 1)
