"""What a reader gets: the measures of a page other than the names that it carries (see `quality`).

Each row is one way to make the text, over the cuts of one kind. Shares are over all messages, claims, sentences and
lines of the row's cuts together, in percent; `cuts` without any are in the figures as nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from benches.quality_actions import Action
from benches.quality_page import Passage, bare, is_gap, read_page
from benches.quality_prose import Decisions, measure_decisions
from benches.quality_source import Source, in_context
from benches.quality_state import Claim, Verdict, judge_page
from benches.quality_words import Words, measure_words, typed_texts
from benches.report import Aim, at_least, at_most
from ullage.model.message import Message
from ullage.tokens.counter import TokenCounter


class Form(Struct, frozen=True, kw_only=True):
    """What one text is like: the user's words in the context, verdicts on what it says of the state, its decisions,
    its lines of code, and those out of context."""

    contender: str
    budget: int | str
    words: Words
    verdicts: tuple[Verdict, ...]
    decisions: Decisions
    lines: int
    loose: int


class Head(Struct, frozen=True, kw_only=True):
    """The messages before a cut, with what the measures look up in them."""

    messages: tuple[Message, ...]
    source: Source
    actions: tuple[Action, ...]


class Shown(Struct, frozen=True, kw_only=True):
    """One text at a cut: the summary `page`, the whole `context` that has it, and their `room` in tokens. The
    contender and the budget name its row."""

    contender: str
    budget: int | str
    page: str
    context: str
    room: int


def measure_form(head: Head, shown: Shown, counter: TokenCounter) -> Form:
    """Measures one text. What the user typed is the user's word and not code, unless it is quoted in a fence under a
    heading that does not name the user."""
    page = read_page(shown.page)
    typed = frozenset(bare(line) for text in typed_texts(head.messages) for line in text.splitlines())
    code = [
        tuple(line for line in passage.lines if bare(line) not in typed or not _may_be_typed(passage))
        for passage in page.passages
        if not passage.shell
    ]
    return Form(
        contender=shown.contender,
        budget=shown.budget,
        words=measure_words(head.messages, shown.context, shown.room, counter),
        verdicts=tuple(judge_page(page, head.messages, head.actions)),
        decisions=measure_decisions(page, head.source),
        lines=sum(not is_gap(line) for lines in code for line in lines),
        loose=sum(len(in_context(head.source, lines)[1]) for lines in code),
    )


def _may_be_typed(passage: Passage) -> bool:
    return not passage.fenced or "user" in passage.heading.lower()


def form_rows(forms: Sequence[Form]) -> list[dict[str, Any]]:
    """Returns a row per budget and contender, in the order of the forms."""
    keys = dict.fromkeys((form.budget, form.contender) for form in forms)
    return [_row([form for form in forms if (form.budget, form.contender) == key]) for key in keys]


def _row(forms: Sequence[Form]) -> dict[str, Any]:
    words, fitting = [form.words for form in forms], [form.words for form in forms if form.words.fits]
    sentences = sum(form.decisions.sentences for form in forms)
    noise = sum(form.decisions.colons + form.decisions.narrating for form in forms)
    return {
        "budget": forms[0].budget,
        "text": forms[0].contender,
        "cuts": len(forms),
        "user messages": sum(each.messages for each in words),
        "word for word": _kept(words),
        "where a third holds them": _kept(fitting),
        "newest": _share(sum(each.last for each in words), len(words)),
        **{claim.value: _false(forms, claim) for claim in Claim},
        "decisions": sentences,
        "colon or narrating": _share(noise, sentences),
        "code lines": sum(form.lines for form in forms),
        "out of context": sum(form.loose for form in forms),
    }


def _kept(words: Sequence[Words]) -> float | None:
    return _share(sum(each.kept for each in words), sum(each.messages for each in words))


def _share(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _false(forms: Sequence[Form], claim: Claim) -> str:
    """Returns false claims, judged ones and all, as `false/judged (all)`."""
    verdicts = [verdict for form in forms for verdict in form.verdicts if verdict.claim is claim]
    judged = [verdict for verdict in verdicts if verdict.false is not None]
    return f"{sum(bool(verdict.false) for verdict in judged)}/{len(judged)} ({len(verdicts)})"


def form_aims(forms: Sequence[Form], contender: str, budget: int | str) -> Iterator[Aim]:
    """Yields the aims for a contender: those on the user's words at one budget, since a small one can't hold the words
    of a long session, the others over all budgets."""
    own = [form for form in forms if form.contender == contender]
    words = [form.words for form in own if form.budget == budget]
    fitting = [each for each in words if each.fits]
    for what, chosen, bound in (("where a third holds them", fitting, 100), ("overall", words, 95)):
        if (kept := _kept(chosen)) is not None:
            yield at_least(f"user messages word for word at {budget}, {what}", kept, bound)
    for claim in Claim:
        judged = [v.false for form in own for v in form.verdicts if v.claim is claim and v.false is not None]
        if judged:
            yield at_most(f"{claim.value}, of 100", 100 * sum(judged) / len(judged), 0)
    sentences = sum(form.decisions.sentences for form in own)
    if sentences:
        noise = sum(form.decisions.colons + form.decisions.narrating for form in own)
        yield at_most("decisions that end in a colon or narrate, in percent", 100 * noise / sentences, 2)
    if own:
        yield at_most("lines of code out of context", sum(form.loose for form in own), 0)
