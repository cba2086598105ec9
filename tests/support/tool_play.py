"""A play for agent frameworks: each question is answered after one look into a file, so that the context fills up."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ullage.embed.manager import ContextPool
from ullage.model.message import read_marker

WINDOW = 4_000
QUESTIONS = 20
THREAD = "thread-1"
# Said in the first file alone, and nowhere in the questions.
NEEDLE = "gooseneck"


def new_pool(window: int = WINDOW, **options: Any) -> ContextPool:
    return ContextPool("gpt-4o", window=window, **options)


def question(number: int) -> str:
    return f"Question {number}: what does file {number} say? " + "Be precise about all that matters. " * 10


def file_text(number: int) -> str:
    """What the tool of the play returns."""
    return (
        f"File {number}{' (the gooseneck is bent)' if number == 0 else ''}: " + "the ship sails on through fog. " * 50
    )


def unpaired(calls_and_results: Iterable[tuple[str, str]]) -> set[str]:
    """Returns the ids that have not exactly one call and then one result, of (`call` or `result`, id) in order."""
    state: dict[str, list[str]] = {}
    for kind, call_id in calls_and_results:
        state.setdefault(call_id, []).append(kind)
    return {call_id for call_id, kinds in state.items() if kinds != ["call", "result"]}


def compaction_numbers(texts: Iterable[Any]) -> list[int]:
    """Returns the numbers of the summaries among the contents of messages."""
    blocks = (read_marker(text) for text in texts if isinstance(text, str))
    return [block.compaction_number for block in blocks if block is not None]


def check_story(pool: ContextPool, ask: Callable[[int], Any], sent: Sequence[Sequence[Any]]) -> None:
    """Asks all questions. The context stays in its window by itself, what was archived is found, and can be brought
    back. `sent` are the lists of messages that the model was sent."""
    for number in range(QUESTIONS):
        ask(number)
    with pool.open(THREAD) as context:
        assert any(edit.kind == "compaction" for edit in context.history()), [e.kind for e in context.history()]
        assert context.token_usage < WINDOW
        # Some frameworks hand an answer over with the next question.
        assert len(context.get_messages()) >= 4 * QUESTIONS - 1
        assert len(sent[-1]) < 4 * QUESTIONS - 1
        assert any(NEEDLE in hit.snippet.replace("*", "") for hit in context.search(NEEDLE))
        before = context.get_stats().messages_active
        context.undo()
        assert context.get_stats().messages_active > before
