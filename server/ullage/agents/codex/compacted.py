"""Reads Codex's compactions: what of the conversation stays, and what the summary says.

A `compacted` line has the whole new context as `replacement_history`, or only the summary in older versions. Then
Codex keeps the user's newest messages, up to 20,000 tokens, before the summary.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, takewhile

from msgspec import Struct

from ullage.formats.transcripts.chat import read_parts
from ullage.formats.transcripts.response_items import item_type
from ullage.model.blocks import NO_SUMMARY, join_texts
from ullage.model.json_values import JsonObject, as_objects, as_text

# Tokens of the user's messages that a compaction without a `replacement_history` keeps, and how Codex estimates them
# (`codex-rs/core/src/compact.rs`).
_KEPT_TOKENS = 20_000
_BYTES_PER_TOKEN = 4
# The summary's place if only OpenAI can read it.
_SEALED = "[Codex compacted the conversation. Only OpenAI can read the summary.]"


class Replacement(Struct, frozen=True, kw_only=True):
    """What a compaction left of the conversation: the text of the `summary`, the ids of the messages that stay
    (`kept`), and items that the transcript does not have yet (`new`)."""

    summary: str
    kept: tuple[str, ...]
    new: tuple[JsonObject, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was summarized: the agent began a new context."""
        return self.summary == NO_SUMMARY


def text_of(item: JsonObject) -> str:
    """Returns the text of a message item of the Responses API."""
    return join_texts(block for block in read_parts(item.get("content")))


def read_replacement(payload: JsonObject, known: Mapping[str, Sequence[str]]) -> Replacement:
    """Returns what a `compacted` line with a `replacement_history` left of the conversation. `known` maps ids and texts
    of messages that the model did not write to their ids in the transcript, oldest first."""
    summary = as_text(payload.get("message"))
    kept: dict[str, None] = {}
    new: list[JsonObject] = []
    # Backwards, so that of two messages with one text the newest is found first.
    for item in reversed(as_objects(payload.get("replacement_history"))):
        text = text_of(item)
        candidates = [*known.get(text, ()), *known.get(as_text(item.get("id")), ())]
        found = next((known_id for known_id in reversed(candidates) if known_id not in kept), None)
        if found and item_type(item) == "message":
            kept[found] = None
        elif not (summary and text == summary):
            new.append(item)
    sealed = any(item.get("encrypted_content") for item in as_objects(payload.get("replacement_history")))
    none = _SEALED if sealed else NO_SUMMARY
    return Replacement(summary=summary or none, kept=tuple(reversed(kept)), new=tuple(reversed(new)))


def keep_newest(payload: JsonObject, prompts: Sequence[tuple[str, str]]) -> Replacement:
    """Returns what a `compacted` line without a `replacement_history` left of the conversation: the newest user
    messages, up to 20,000 tokens. `prompts` are pairs of an id and a text of the user's messages, oldest first."""
    sizes = accumulate(-(-len(text.encode()) // _BYTES_PER_TOKEN) for _, text in reversed(prompts))
    number = sum(1 for _ in takewhile(lambda size: size <= _KEPT_TOKENS, sizes))
    newest = prompts[len(prompts) - number :]
    return Replacement(summary=as_text(payload.get("message")) or NO_SUMMARY, kept=tuple(known for known, _ in newest))
