"""A summary being filled: items are added while they fit, the most valuable per token first."""

import heapq
from collections.abc import Iterable, Mapping, Sequence

from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import HEADINGS, Item, Section, write_group, write_item, write_section
from ullage.summary.tuning import CHARACTERS_PER_TOKEN, TUNING, Tuning
from ullage.tokens.counter import TokenCounter

# So many candidates in a row that do not fit: the page is full.
_PATIENCE = 60
# What every entry takes besides its text: its mark, its index, its line break. Characters, and the same in tokens.
_FRAME = 12
_ENTRY = _FRAME // CHARACTERS_PER_TOKEN


class Page:
    """Items chosen so far and the tokens they take. `room` is what may be used in all, `covered` anchors stand
    beside the page."""

    def __init__(
        self,
        room: int,
        weights: Mapping[str, float],
        counter: TokenCounter,
        check: Check = go_on,
        tuning: Tuning = TUNING,
    ) -> None:
        self.room = room
        self.used = 0
        self._counter = counter
        self._check = check
        self._weights = weights
        self._items: list[Item] = []
        self._texts: set[str] = set()
        self._groups: set[str] = set()
        self._sections: set[Section] = set()
        self._covered: set[str] = set()
        self._tuning = tuning

    @property
    def items(self) -> Sequence[Item]:
        """What was chosen, in the order of choice."""
        return self._items

    @property
    def covered(self) -> set[str]:
        """Anchors that stand on the page."""
        return self._covered

    def cover(self, names: Iterable[str]) -> None:
        """Anchors that stand beside the page."""
        self._covered.update(names)

    def place(self, items: Iterable[Item], share: int) -> None:
        """Adds items in the given order within `share` tokens; stops at the first that does not fit."""
        limit = min(self.room, self.used + share)
        for item in items:
            if not self._add(item, limit):
                break

    def fill(self, items: Sequence[Item], share: int) -> None:
        """Adds the items worth most per token within `share` tokens. An item's worth falls as its anchors come to
        stand on the page, so it is ranked again when its turn comes."""
        limit = min(self.room, self.used + share)
        heap = [(-self._density(item), position) for position, item in enumerate(checked(items, self._check, MANY))]
        heapq.heapify(heap)
        misses = 0
        while heap and misses < _PATIENCE and limit - self.used > _ENTRY:
            self._check()
            stale, position = heapq.heappop(heap)
            now = -self._density(items[position])
            if heap and now > stale + 1e-9 and now > heap[0][0]:
                heapq.heappush(heap, (now, position))
            elif now < 0:
                misses = 0 if self._add(items[position], limit) else misses + 1

    def settle(self) -> None:
        """Counts the page as it is written: gaps and frames take less than was set aside for them."""
        self.used = self._counter.count("\n\n".join(self.sections()))

    def remove_last(self) -> None:
        """Takes back the item added last."""
        self._items.pop()

    def sections(self) -> list[str]:
        """The written sections in order."""
        by_section: dict[Section, list[Item]] = {}
        for item in self._items:
            by_section.setdefault(item.section, []).append(item)
        return [write_section(section, by_section[section]) for section in sorted(by_section)]

    def _density(self, item: Item) -> float:
        """Worth per character: names that stand on the page already count nothing."""
        if item.text in self._texts:
            return 0.0
        weights, covered, unknown = self._weights, self._covered, self._tuning.carried_weight
        worth = item.value + sum(weights.get(name, unknown) for name in item.anchors if name not in covered)
        size = len(item.text) + _FRAME
        if item.group and item.group not in self._groups:
            size += len(item.group) + _FRAME
        return worth / size

    def _add(self, item: Item, limit: int) -> bool:
        if item.text in self._texts:
            return True
        cost = self._cost(item)
        if self.used + cost > limit:
            return False
        self.used += cost
        self._items.append(item)
        self._texts.add(item.text)
        self._sections.add(item.section)
        self._covered.update(item.anchors)
        if item.group:
            self._groups.add(item.group)
        return True

    def _cost(self, item: Item) -> int:
        text = write_item(item) + "\n"
        if item.section not in self._sections:
            text += HEADINGS[item.section] + "\n\n"
        if item.group and item.group not in self._groups:
            text += write_group(item) + "\n"
        return self._counter.count(text)
