"""How many rows of the index have a token. Each is asked for once in a search, and several at once."""

from collections.abc import Iterable

from ullage.store.search.word_index import WordIndex


class Counts:
    """The numbers of rows that have tokens, for one search."""

    def __init__(self, connection: WordIndex) -> None:
        self._connection = connection
        self._known: dict[str, int] = {}

    def load(self, tokens: Iterable[str]) -> None:
        """Asks for those of the tokens that are not known yet, together."""
        asked = [token for token in dict.fromkeys(tokens) if token not in self._known]
        if asked:
            self._known.update(zip(asked, self._connection.count_rows(asked), strict=True))

    def of(self, token: str) -> int:
        """Returns about how many rows have a token."""
        self.load((token,))
        return self._known[token]

    def has(self, token: str) -> bool:
        """Returns whether any row has a token."""
        return self.of(token) > 0
