"""Every type of message and item of the three APIs, made from the types of their SDKs: counted, sent as it was given,
and what each way of making room leaves of it.

In a cell `9 =` are sent as they were given, `2 ~` are sent with an edit, and `1 -` are not sent. `undone` says whether
all messages come back, in their order and equal, when every edit is undone.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.report import Report, at_least, at_most
from support.sdk_items import KINDS, TOOLS, group_of, shape, turn_of
from ullage import ContextManager, ContextSettings, TruncationMode
from ullage.formats.provider import MESSAGES, Provider
from ullage.model.json_values import as_objects, as_text

Json = dict[str, Any]
_EDITS: Sequence[TruncationMode | str] = (*TruncationMode, "clear", "compact")
_ASKED: Json = {"role": "user", "content": "How many?"}
_TURNS = 12


def run(_: Sequence[Path]) -> Report:
    rows = [_row(*kind) for kind in KINDS]
    tools = list(_tools())
    given = [row for row in rows if row["unchanged"] and row["tokens"] > 0 and row["undone"]]
    return Report(
        bench="items",
        rows=rows,
        aims=[
            at_least("types counted, sent as given, and back after undo", len(given) / len(rows), 1),
            at_most("tools that are not sent as they were given", tools.count(False), 0),
        ],
    )


def _row(name: str, provider: Provider, message: Json) -> Json:
    group = group_of(provider, message)
    with ContextManager("gpt-4o", provider=provider) as manager:
        manager.add_message(_ASKED)
        before = manager.token_usage
        manager.add_message(message)
        tokens = manager.token_usage - before
        unchanged = manager.get_request()[MESSAGES[provider]] == [_ASKED, message]
    cells, undone = zip(*(_after(provider, message, how) for how in _EDITS), strict=True)
    return {
        "API": provider.value,
        "type": name,
        "with": " + ".join(_kind(each) for each in group if each != message),
        "tokens": tokens,
        "unchanged": unchanged,
        **dict(zip(map(str, _EDITS), cells, strict=True)),
        "undone": all(undone),
    }


def _after(provider: Provider, message: Json, how: TruncationMode | str) -> tuple[str, bool]:
    """Returns what is sent of the messages of this type after edits, and whether all are back without the edits."""
    mode = how if isinstance(how, TruncationMode) else TruncationMode.SUMMARIZE
    settings = ContextSettings(mode=mode, keep_tool_uses=1)
    place = next((at for at, each in enumerate(group_of(provider, message)) if each == message), 1)
    said: list[Json] = []
    kept: list[Json] = []
    sent: list[Json] = []
    with TemporaryDirectory() as folder:
        store = Path(folder) / "items.db"
        with ContextManager("gpt-4o", provider=provider, window=8_000, context=settings, store=store) as manager:
            for number in range(_TURNS):
                turn = turn_of(provider, message, number)
                said += turn
                kept.append(turn[1 + place])
                manager.add_message(*turn)
                if how == "compact" and number % 4 == 3:
                    manager.compact_sync()
                sent = manager.get_request()[MESSAGES[provider]]
            session_id = manager.session_id
        with ContextManager(
            "gpt-4o", provider=provider, window=900_000, store=store, session_id=session_id, context=settings
        ) as manager:
            while manager.undo():
                pass
            is_back = manager.get_request()[MESSAGES[provider]] == said
    equal = sum(each in kept for each in sent)
    alike = sum(shape(each) == shape(kept[0]) and each not in said and not _is_marker(each) for each in sent)
    return f"{equal} = {alike} ~ {_TURNS - equal - alike} -", is_back


def _is_marker(message: Json) -> bool:
    texts = [message.get("content"), *(part.get("text") for part in as_objects(message.get("content")))]
    return any(isinstance(text, str) and text.startswith("[") for text in texts)


def _kind(message: Json) -> str:
    parts = [as_text(part.get("type")) for part in as_objects(message.get("content"))]
    return " of ".join([as_text(message.get("type")) or message["role"], *parts])


def _tools() -> Iterator[bool]:
    for provider, tool in TOOLS:
        with ContextManager("gpt-4o", provider=provider, tools=[tool]) as manager:
            yield manager.get_request()["tools"] == [tool]
