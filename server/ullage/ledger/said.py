"""What the user said: every message that the user typed, whole, with what it answers.

A reply by number or letter says nothing without the options it chose from, and a short reply nothing without its
question. Both are found by their signs, not by words of a language.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from ullage.agents.calls import ToolCall
from ullage.agents.inserted import is_summary, linked, typed_texts
from ullage.agents.outcomes import said_in_result, was_refused
from ullage.agents.tools import plain, strings_in, text_of
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.ledger.prose import on_one_line
from ullage.model.expressions import expression
from ullage.model.json_values import JsonObject, as_list, as_object, as_text
from ullage.model.message import Message

# Characters. A reply that is no longer may need the question before it.
_REPLY = 80
# Characters of a question, and of all options that a reply may have chosen from.
_QUESTION, _OPTIONS = 300, 400
# A line that offers an option: `2.`, `B)`, `**Option 1:**`, `Variante A -`, each with its text.
_OPTION = expression(
    r"^[ \t>*#-]{0,8}(?:\*\*)?(?:[^\W\d_]{1,12}[ \t])?([1-9]\d?|[A-Ha-h])(?:\*\*)?[.):：、]{1,2}(?:\*\*)?[ \t]*(\S.*)$",
    re.MULTILINE,
)
# The label of an option in a reply: by itself, or before a sign.
_LABEL = expression(r"(?<![\w.])([1-9]\d?|[A-Ha-h])(?![\w'’])(?=\s*(?:[.,;:)+&/!、，。]|$|\n))", re.MULTILINE)
# The label of an option anywhere in a reply that has one of those above: `2 and 4`.
_NAMED = expression(r"(?<![\w.])([1-9]\d?|[A-H])(?![\w.'’])")
# The label of an answer: `1.`, `b)`, `2:`.
_GIVEN = expression(r"(?<![\w.])([1-9]\d?|[A-Ha-h])[.):：、](?!\w)")
# What ends a question, and what ends what is before it.
_ASKS, _ENDS = expression(r"[?؟](?=[\s*_\"'”’)\]]|$)|？"), expression(r"[.!?؟](?=\s)|[。！？]")
# Tools by which an agent asks the user. Their results are the user's words.
_ASKING = {
    plain(name)
    for name in (
        *("AskUserQuestion", "ask_user", "ask_followup_question", "request_user_input", "question", "askQuestion"),
        *("vscode_askQuestions", "clarify"),
    )
}
# What Claude Code and opencode write around an answer, after the question in quotes: `="8123"`, or in the next line
# `Answer: 8123` if the user would rather talk about it; and for none.
_QUOTED, _LINE, _NO_ANSWERS = '="', "Answer: ", ("=(no option selected)", "(No answer provided)", "Unanswered")
# Before what was shown for that option, and before what the user wrote beside the answer.
_SHOWN, _BESIDE = " selected preview:\n", expression(r'(?<=[")]) (?:user )?notes: |\n {0,8}User notes: ')
# What they write after the last answer, Claude Code before what the user said besides answers, and it and Copilot CLI
# before the only answer.
_ANSWERS = expression(r"(.*)\. (?:You can now|Read the answers|Call \w+ again) .*", re.DOTALL)
_BESIDES, _ONLY = '. They also wrote: "', expression(r"\A(?:The user|User) (?:responded|selected): ")
# How a text with such words begins; and what Codex writes before a note.
_WANTS_MORE, _NOTE = "The user wants ", "user_note: "
# An answer with a comma or a quote, where Claude Code lets the user choose several.
_IN_JSON = expression(r'"(?:[^"\\]|\\.)*"')
# How Qwen Code writes answers: `**Port**: 8123`, under the headers of the questions; and what agents write if the user
# gave none.
_LISTED = expression(r"^\*\*([^*\n]{1,200})\*\*: (.*?)(?=^\*\*[^*\n]{1,200}\*\*: |\Z)", re.MULTILINE | re.DOTALL)
_UNANSWERED = expression(r"\[?(?:The )?[Uu]ser (?:declined|dismissed|cancell?ed|skipped|did not|is not)\b")
# A whole result in tags: `<answer>8123</answer>`.
_IN_TAGS = expression(r"<(\w+)>(.*)</\1>", re.DOTALL)


class SaidFold:
    """Collects what the user said, message by message."""

    def __init__(self) -> None:
        self._said: list[Entry] = []
        self._keys: list[tuple[str, str]] = []
        self._asked = ""

    def agent_said(self, text: str) -> None:
        """Notes the newest text of the agent, which the user's next message may answer."""
        self._asked = text

    def take_typed(self, message: Message, index: int) -> str:
        """Reads what the user typed in a message. Returns it, empty if the user typed nothing."""
        text = typed_text(message)
        if text:
            self._add(text, index, beside=answered_by(text, self._asked))
        return text

    def take_call(self, call: ToolCall) -> None:
        """Reads what the user said in a call's result: in refusing it or letting it run, or in answering its
        question."""
        index = max(call.result_index, call.index)
        if plain(call.name.rsplit("__", 1)[-1]) in _ASKING:
            for question, answer in _answers(call):
                if answer:
                    self._add(answer, index, beside=question)
        elif said := said_in_result(call.result, failed=bool(call.failed)):
            how = "in refusing" if was_refused(call.result) else "about"
            self._add(said.strip(), index, beside=f"{how} {call.name}{_about(call)}")

    @property
    def has_any(self) -> bool:
        """Whether the user said anything so far."""
        return bool(self._said)

    def entries(self) -> tuple[Entry, ...]:
        """Returns the user's words, in order. A message with the same words later, to the same question, makes an
        earlier one repeated."""
        last = {key: place for place, key in enumerate(self._keys)}
        return tuple(
            entry if last[key] == place else replace(entry, life=Life.REPEATED)
            for place, (key, entry) in enumerate(zip(self._keys, self._said, strict=True))
        )

    def _add(self, text: str, index: int, beside: str) -> None:
        self._said.append(Entry(kind=Kind.SAID, life=Life.OPEN, index=index, text=text, beside=beside))
        self._keys.append((_plain_words(text), _plain_words(beside)))
        self._asked = ""


def typed_text(message: Message) -> str:
    """Returns what the user typed in a message, followed by the addresses of what was attached. Empty if the user typed
    nothing; a summary with which an agent continues is not the user's."""
    return "\n".join([*(text for text in typed_texts(message) if not is_summary(text)), *linked(message)])


def answered_by(reply: str, asked: str) -> str:
    """Returns what a reply answers: the options whose labels it has, or else the last question of a text if the reply
    is short. Empty if it answers nothing."""
    labels = _labels(reply)
    # A command of the agent, even if it is not written to its end, answers nothing.
    if not asked or reply.startswith("/") or (not labels and len(reply) > _REPLY):
        return ""
    options = {label.upper(): text.replace("**", "").strip() for label, text in _OPTION.findall(asked)}
    chosen = [label for label in labels if label in options]
    if chosen:
        return "; ".join(f"{label} = {on_one_line(options[label], _QUESTION)}" for label in chosen)
    if len(reply) > _REPLY:
        return ""
    end = max((sign.end() for sign in _ASKS.finditer(asked)), default=0)
    if not end:
        return ""
    # With the sentences before it on its line, which may name what it asks about.
    line = asked.rfind("\n", 0, end) + 1
    begins = [line, *(sign.end() for sign in _ENDS.finditer(asked, line, end - 1))]
    begin = next((place for place in begins if end - place <= _QUESTION), begins[-1])
    offered = " / ".join(f"{label}. {text}" for label, text in options.items())
    question = on_one_line(asked[begin:end].strip(" *#>-\t"), _QUESTION)
    return f"{question} ({on_one_line(offered, _OPTIONS)})" if offered else question


def _labels(reply: str) -> list[str]:
    """Returns the labels of options in a reply. A reply that gives an answer after each label (`1. yes 2. no`) has only
    those. In a longer text a label is probably something else, unless the text begins with it."""
    first = _LABEL.match(reply.strip())
    if len(reply) > _REPLY and not first:
        return []
    given = _GIVEN.findall(reply) if first else []
    labels = {sign.start(): sign[1].upper() for sign in _LABEL.finditer(reply)}
    if labels and len(reply) <= _REPLY:
        labels |= {sign.start(): sign[1] for sign in _NAMED.finditer(reply)}
    return list(dict.fromkeys(map(str.upper, given) if given else (labels[at] for at in sorted(labels))))


def _answers(call: ToolCall) -> Iterator[tuple[str, str]]:
    """Yields the questions of a call with what the user answered: after each question in the result, in an object of
    answers by the ids or the places of the questions, or else the whole result. Of a call that failed, the user refused
    to answer: what the user said then is its answer."""
    refused = said_in_result(call.result, failed=bool(call.failed))
    said = (refused or ("" if call.failed else call.result)).strip()
    # Hermes Agent's result also has the question.
    said = as_text(json_or_none(said).get("user_response")) or said
    asked = [as_object(one) for one in as_list(call.input.get("questions"))]
    questions = [text_of(one, ("question",)) for one in asked] or [
        text_of(call.input, ("question", "prompt", "message"))
    ]
    if asked and (answers := [*_after_questions(said, [one for one in questions if one])]):
        several = {question for question, one in zip(questions, asked, strict=True) if one.get("multiSelect") is True}
        for question, answer in answers:
            yield question, _IN_JSON.sub(_unescaped, answer) if question in several else answer
    elif "answers" in (written := json_or_none(said)):
        given = as_object(written["answers"])
        names = [(one.get("id"), one.get("header"), str(at), one.get("question")) for at, one in enumerate(asked)]
        places = {
            key: next((at for at, own in enumerate(names) if key in own), place) for place, key in enumerate(given)
        }
        for key in sorted(given, key=places.__getitem__):
            yield (questions[places[key]] if places[key] < len(questions) else "") or key, _chosen(given[key])
    elif asked and (listed := _LISTED.findall(said)):
        headers = {text_of(one, ("header",)): text_of(one, ("question",)) for one in asked}
        for header, answer in listed:
            yield headers.get(header) or str(header), str(answer).strip()
    elif said and not _UNANSWERED.match(said):
        inner = _IN_TAGS.fullmatch(said)
        yield questions[0], inner[2].strip() if inner else _ONLY.sub("", said)


def _chosen(answer: object) -> str:
    """Returns what the user chose, and wrote beside it, from the texts of an answer."""
    texts = [*strings_in(answer)]
    notes = [text.removeprefix(_NOTE) for text in texts if text.startswith(_NOTE)]
    return ". ".join(filter(None, (", ".join(text for text in texts if not text.startswith(_NOTE)), *notes)))


def _unescaped(quoted: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", quoted[0])


def _after_questions(said: str, questions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the questions that a text has in quotes, each with what the user answered and wrote beside it, and what
    the user wrote besides."""
    ended, is_more = _ANSWERS.fullmatch(said), said.startswith(_WANTS_MORE)
    said = ended[1] if ended else said
    # After other words they are a part of an answer.
    said, _, besides = said.partition(_BESIDES) if is_more else (said, "", "")
    found = _places(said, questions)
    ends = [*(at for at, _ in found), len(said)][1:]
    for (at, question), end in zip(found, ends, strict=True):
        yield question, _answer(said[at + len(question) + 2 : end].strip())
    if besides:
        yield "", besides.removesuffix('"')


def _places(said: str, questions: Sequence[str]) -> list[tuple[int, str]]:
    """Returns where each question is before its answer, in the order of the text. It is that of the questions if it can
    be, because an answer may quote a question."""
    places = {
        question: [found.start() for found in re.finditer(re.escape(f'"{question}"') + r"(?=[=\n])", said)]
        for question in questions
    }
    asked = {question: at for question, at in places.items() if at}
    found: list[tuple[int, str]] = []
    for question in reversed(asked):
        end = found[0][0] if found else len(said)
        found[:0] = [(at, question) for at in asked[question] if at < end][-1:]
    return found if len(found) == len(asked) else sorted((at[0], question) for question, at in asked.items())


def _answer(written: str) -> str:
    """Returns what the user answered and wrote beside it, from what is written after a question."""
    written = written.removesuffix("-").rstrip().removesuffix(",")
    answer, shown, beside = written.partition(_SHOWN)
    answer, *notes = (answer, *beside.split(" notes: ", 1)[1:]) if shown else _BESIDE.split(written, maxsplit=1)
    if answer.startswith(_QUOTED):
        answer = answer.removeprefix(_QUOTED).removesuffix(".").removesuffix('"')
    answer = "" if answer in _NO_ANSWERS else answer.removeprefix(_LINE)
    return ". ".join(filter(None, (answer, *notes)))


def json_or_none(text: str) -> JsonObject:
    """Returns the object that a text in JSON is, empty if it is none."""
    try:
        return as_object(msgspec.json.decode(text)) if text.startswith("{") else {}
    except msgspec.DecodeError:
        return {}


def _about(call: ToolCall) -> str:
    about = call.path or call.command
    return f" `{on_one_line(about.splitlines()[0], 100)}`" if about else ""


def _plain_words(text: str) -> str:
    return " ".join(text.split()).casefold()
