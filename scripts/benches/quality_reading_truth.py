"""What a judge of the reading test compares answers with: the facts of a session before a place, and what came after.

The facts are read from the calls by `quality_actions`, not by the engine that wrote the summary.
"""

from collections.abc import Iterator, Sequence

from benches.quality_actions import Action, Kind, command_key, read_actions
from benches.quality_probe import text_of
from benches.quality_state import newest_list
from benches.quality_words import typed_texts
from ullage.model.message import Message, Role

_NEWEST, _AFTER = 25, 12
# Characters of a message, and of a call, that a judge is shown.
_LONGEST, _CALL = 1_500, 160
_ENDS = {True: "passed", False: "failed", None: "end not shown"}


def write_truth(messages: Sequence[Message], at: int) -> str:
    """Returns the facts about a session before message `at`, and its next messages, as Markdown."""
    head = messages[:at]
    actions = read_actions(head)
    parts = {
        "Messages of the user, oldest first": [_clip(text) for text in typed_texts(head)],
        "The agent's newest to-do list": [
            f"{'x' if done else ' '} {text}" for text, done in newest_list(actions).items()
        ],
        "Commands by what they run: all ends, newest last": list(_runs(actions)),
        "Files changed, oldest first": list(dict.fromkeys(action.target for action in _changes(actions))),
        "Last calls": [_call(action) for action in actions[-_NEWEST:]],
        "Last words of the agent": [_clip(text) for text in _said(head)][-5:],
        "What happened next": list(_after(messages[at:])),
    }
    return "\n".join(
        f"## {title}\n" + "\n".join(f"- {line}" for line in lines) + "\n" for title, lines in parts.items()
    )


def _runs(actions: Sequence[Action]) -> Iterator[str]:
    ends: dict[str, list[str]] = {}
    for action in actions:
        if action.kind is Kind.RUN:
            ends.setdefault(command_key(action.target)[:_CALL], []).append(
                f"{_ENDS[action.passed]} (#{action.index + 1})"
            )
    for command, found in ends.items():
        if any(end.startswith("failed") for end in found):
            yield f"`{command}`: {', '.join(found)}"


def _changes(actions: Sequence[Action]) -> Iterator[Action]:
    return (action for action in actions if action.kind is Kind.CHANGE and action.passed is not False)


def _call(action: Action) -> str:
    target = " ".join((action.target or action.text).split())[:_CALL]
    return f"#{action.index + 1} {action.kind.value}: {target} ({_ENDS[action.passed]})"


def _said(messages: Sequence[Message]) -> Iterator[str]:
    return (message.text for message in messages if message.role is Role.ASSISTANT and message.text.strip())


def _after(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages[:_AFTER]:
        yield f"[{message.role.value}] {_clip(text_of(message))}"


def _clip(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]} …"
