"""A page: the part of a summary chosen so far. Items are added while they fit, the most valuable per token first."""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence

from ullage.model.artifacts import ArtifactLedger
from ullage.model.marker import render_ledger
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import HEADINGS, Item, Section, write_group, write_item, write_section
from ullage.summary.tuning import CHARACTERS_PER_TOKEN, TUNING, Tuning
from ullage.tokens.counter import TokenCounter

# If this many candidates in a row do not fit, the page counts as full.
_PATIENCE = 60
# What every entry needs in addition to its text: list mark, index and line break. In characters, and then in tokens.
_FRAME = 12
_ENTRY = _FRAME // CHARACTERS_PER_TOKEN
NO_LEDGER = ArtifactLedger()


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
        self._weights = weights
        self._items: list[Item] = []
        # The texts of sections that have not changed since they were last written.
        self._written: dict[Section, str] = {}
        self._texts: set[tuple[Section, str]] = set()
        self._groups: set[tuple[str, int]] = set()
        self._sections: set[Section] = set()
        self._lines: dict[tuple[str, int], set[int]] = {}
        self._covered: set[str] = set()
        self._tuning = tuning

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
        self._covered.update(names)

    def place(self, items: Iterable[Item], share: int) -> None:
        """Adds items in the given order, which may take `share` more tokens. Stops at the first item that does not
        fit."""
        limit = min(self.room, self.used + share)
        for item in items:
            if not self._add(item, limit):
                break

    def fill(self, items: Iterable[Item], share: int, beside: Callable[[Item], Iterable[Item]] | None = None) -> None:
        """Adds the items with the most worth per character, which may take `share` more tokens. An item loses worth
        when another item brings its anchors onto the page, so each item is ranked again before it is added. What
        `beside` returns for an item on the page competes with the others."""
        limit = min(self.room, self.used + share)
        if limit - self.used <= _ENTRY:
            return
        known = [*items, *(more for item in self._items for more in (beside(item) if beside else ()))]
        heap = [(-self._density(item), position) for position, item in enumerate(checked(known, self._check, MANY))]
        heapq.heapify(heap)
        misses = 0
        while heap and misses < _PATIENCE and limit - self.used > _ENTRY:
            self._check()
            stale, position = heapq.heappop(heap)
            item = known[position]
            now = -self._density(item)
            if heap and now > stale + 1e-9 and now > heap[0][0]:
                heapq.heappush(heap, (now, position))
            elif now < 0 and not self._add(item, limit):
                misses += 1
            elif now < 0:
                misses = 0
                for more in beside(item) if beside else ():
                    heapq.heappush(heap, (-self._density(more), len(known)))
                    known.append(more)

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
        self._written.update({section: write_section(section, items) for section, items in changed.items()})
        return [self._written[section] for section in sorted(self._written)]

    def _density(self, item: Item) -> float:
        """Returns an item's worth per character. Anchors that are already covered count nothing."""
        if self._is_shown(item):
            return 0.0
        weights, covered, unknown = self._weights, self._covered, self._tuning.carried_weight
        worth = item.value + sum([weights.get(name, unknown) for name in item.anchors if name not in covered])
        size = len(item.text) + _FRAME
        if item.group and (item.group, item.index) not in self._groups:
            size += len(item.group) + _FRAME
        return worth / size

    def _add(self, item: Item, limit: int) -> bool:
        if self._is_shown(item):
            return True
        cost = self.cost_of(item)
        if item.section not in self._sections:
            cost += self.cost(item.section)
        if self.used + cost > limit:
            return False
        self.used += cost
        self._items.append(item)
        self._written.pop(item.section, None)
        self._texts.add((item.section, item.text))
        self._sections.add(item.section)
        self._covered.update(item.anchors)
        if item.group:
            self._groups.add((item.group, item.index))
        if item.section is Section.DETAILS:
            self._lines.setdefault((item.group, item.index), set()).update(_lines_of(item))
        return True

    def _is_shown(self, item: Item) -> bool:
        """Returns whether an item's text, or a line of a detail, is on the page already."""
        if (item.section, item.text) in self._texts:
            return True
        shown = self._lines.get((item.group, item.index)) if item.section is Section.DETAILS else None
        return shown is not None and not shown.isdisjoint(_lines_of(item))


def _lines_of(item: Item) -> range:
    return range(item.order, item.order + item.text.count("\n") + 1)
