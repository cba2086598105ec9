"""Orders what a search has found by its words by the meaning of the texts, too: the user's own embeddings server makes
a vector of the query and of each passage (`SearchSettings`).

The two orders are joined by the places that a passage has in them (reciprocal rank fusion, Cormack et al. 2009,
https://doi.org/10.1145/1571941.1572114), since scores of words and cosines have no common scale. Vectors are kept in
the store, so that a second search asks for the query's alone. What the server did not finish in time it finishes in the
background, for the next search. Without an answer the order of words stays.
"""

import asyncio
from collections.abc import Mapping, Sequence
from math import sqrt
from operator import mul

from msgspec import Struct
from msgspec.structs import replace

from ullage.model import words
from ullage.model.errors import AnswerBroken, UllageError
from ullage.model.settings import SearchSettings, context_settings
from ullage.redaction.clean import redact
from ullage.redaction.privacy import hide_text
from ullage.service.conversation.environment import Environment
from ullage.service.ports.ports import Embeds
from ullage.service.ports.store import ChunkId, Passage

# Passages that are put in another order: the first page of results and what may come onto it.
MOST_PASSAGES = 50
# Texts of one request. Servers accept far more (OpenAI 2,048), but those at home take seconds for this many.
_BATCH = 32
# The constant of reciprocal rank fusion, as in its paper.
_FUSION = 60
# The largest number of a vector as it is kept.
_LARGEST = 127


class _Asked(Struct, frozen=True):
    """The vectors that are asked for: of a query, and of passages, by those who want them."""

    workspace: Environment
    embed: Embeds
    query: str
    passages: Sequence[Passage]

    @property
    def settings(self) -> SearchSettings:
        return self.workspace.settings.search

    @property
    def model(self) -> str:
        """The name by which the store keeps the vectors: those of another server's model are others."""
        return f"{self.settings.embeddings_model} {self.settings.embeddings_url}"


def is_wanted(workspace: Environment) -> bool:
    """Returns whether an embeddings server is to be asked."""
    return workspace.ports.embed is not None and bool(workspace.settings.search.embeddings_url)


async def reorder(workspace: Environment, query: str, passages: Sequence[Passage]) -> tuple[Sequence[Passage], str]:
    """Returns the passages, best first by words and meaning together, and "". If the server gives no vectors in time,
    returns them as they are, with a sentence that says why."""
    embed = workspace.ports.embed
    if embed is None or not passages:
        return passages, ""
    if workspace.embedding is not None and not workspace.embedding.done():
        return passages, words.words_alone("the embeddings server still works on an earlier search")
    first = passages[:MOST_PASSAGES]
    work = asyncio.get_running_loop().create_task(_vectors(_Asked(workspace, embed, query, first)))
    workspace.embedding = work
    # An error that comes after the wait concerns no search any more.
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait([work], timeout=workspace.search_wait.embeddings)
    except asyncio.CancelledError:
        work.cancel()
        raise
    if not work.done():
        return passages, words.words_alone("the embeddings server takes long; a later search may have them")
    try:
        wanted, vectors = work.result()
    except UllageError as error:
        return passages, words.words_alone(str(error))
    return [*_fused(first, wanted, vectors), *passages[MOST_PASSAGES:]], ""


def _fused(passages: Sequence[Passage], wanted: bytes, vectors: Mapping[ChunkId, bytes]) -> list[Passage]:
    """Returns the passages in the joint order, with scores that fall in it. Of the words half are enough for a message
    to fit the query, wherever they are: its meaning is judged as well."""
    near = sorted(range(len(passages)), key=lambda at: -_cosine(wanted, vectors[passages[at].id]))
    scores = [1 / (_FUSION + at) for at in range(len(passages))]
    for rank, at in enumerate(near):
        scores[at] += 1 / (_FUSION + rank)
    ordered = sorted(range(len(passages)), key=lambda at: -scores[at])
    return [_judged(passages[at], scores[at]) for at in ordered]


def _judged(passage: Passage, score: float) -> Passage:
    fits = passage.hit.fits or passage.has_half
    return replace(passage, hit=replace(passage.hit, score=score, fits=fits))


async def _vectors(asked: _Asked) -> tuple[bytes, Mapping[ChunkId, bytes]]:
    """Returns the vectors of the query and of all passages. Those that the store lacks, or has in another length than
    the query's, are asked for in batches, each of which is kept as soon as it is there."""
    store, passages = asked.workspace.ports.store, asked.passages
    patterns = _private(asked.workspace)
    kept = await asyncio.to_thread(store.load_vectors, asked.model, [one.id for one in passages])
    (wanted,) = await _ask(asked, [asked.query], patterns)
    kept = {chunk: vector for chunk, vector in kept.items() if len(vector) == len(wanted)}
    missing = [one for one in passages if one.id not in kept]
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        made = await _ask(asked, [one.text for one in batch], patterns)
        if any(len(vector) != len(wanted) for vector in made):
            raise AnswerBroken(f"its vectors have {len(wanted)} and {len(made[0])} dimensions")
        new = {one.id: vector for one, vector in zip(batch, made, strict=True)}
        await asyncio.to_thread(store.save_vectors, asked.model, new)
        kept.update(new)
    return wanted, kept


async def _ask(asked: _Asked, texts: Sequence[str], patterns: Sequence[str]) -> list[bytes]:
    """Returns the vectors of texts, of which secrets and private text stay here."""
    sent = await asyncio.to_thread(lambda: [hide_text(redact(text), patterns) for text in texts])
    return [_pack(vector) for vector in await asked.embed(asked.settings, sent)]


def _private(workspace: Environment) -> Sequence[str]:
    """Returns the private patterns of all settings and all sessions: a passage may be of any session, and a pattern too
    many hides no more than a word."""
    settings = workspace.settings
    models = ("", *settings.models)
    patterns = [pattern for model in models for pattern in context_settings(settings, model).private_patterns]
    for own in workspace.ports.store.own_settings():
        patterns += own.get("privatePatterns", ())
    return tuple(dict.fromkeys(patterns))


def _pack(vector: Sequence[float]) -> bytes:
    """Returns a vector as the store keeps it: signed bytes, the largest 127, which are enough to compare directions."""
    largest = max(map(abs, vector))
    scale = _LARGEST / largest if largest else 0.0
    return bytes(round(number * scale) & 0xFF for number in vector)


def _cosine(one: bytes, other: bytes) -> float:
    """Returns the cosine of the angle between two packed vectors of the same length, 0 if one of them is zero."""
    a, b = memoryview(one).cast("b"), memoryview(other).cast("b")
    lengths = sqrt(sum(map(mul, a, a)) * sum(map(mul, b, b)))
    return sum(map(mul, a, b)) / lengths if lengths else 0.0
