import json
from typing import Any

from support.growing_files import expect_every_split_to_read_alike
from ullage.agents.cline import TASKS
from ullage.agents.transcripts import companions_of
from ullage.formats.parsing import Document

T = 1_790_000_000_000
DETAILS = "<environment_details>\n# Current Working Directory (/home/ann/barrels) Files\na.md\n</environment_details>"


def said(role: str, words: str, ts: int = 0, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": words}]} | more
    return message | {"ts": T + ts} if ts else message


def request(ts: int, tokens_in: int | None = 100, **more: Any) -> dict[str, Any]:
    counts = {} if tokens_in is None else {"tokensIn": tokens_in, "tokensOut": 9, "cacheReads": 50, "cacheWrites": 5}
    shown = {key: more.pop(key) for key in ("conversationHistoryDeletedRange",) if key in more}
    return {
        "ts": T + ts,
        "type": "say",
        "say": "api_req_started",
        "text": json.dumps({"request": "…", **counts, **more}),
    } | shown


def task(messages: list[dict[str, Any]], *shown: dict[str, Any], **files: Any) -> Document:
    first = {"ts": T, "type": "say", "say": "task", "text": "count the barrels\nall of them"}
    companions = [Document(name="ui_messages.json", value=[first, *shown])]
    companions += [Document(name=f"{name}.json", value=value) for name, value in files.items()]
    name = "/home/ann/globalStorage/x/tasks/1790/api_conversation_history.json"
    return Document(name=name, value=messages, companions=tuple(companions))


PLAIN = [said("user", f"go {DETAILS}"), said("assistant", "one"), said("user", "on"), said("assistant", "two")]


ROO = [
    said("user", "go <model>m7</model>", 1, condenseParent="k1"),
    said("assistant", "one", 2, condenseParent="k1"),
    said("user", "We counted.", 3, isSummary=True, condenseId="k1"),
    said("user", "on", 4),
    said("assistant", "two", 5, truncationParent="t1"),
    said("user", "[2 messages hidden]", 6, isTruncationMarker=True, truncationId="t1"),
    said("user", "end", 7),
    said("assistant", "three", 9),
]


def test_the_files_beside_a_history_are_known() -> None:
    assert companions_of("/x/tasks/1/api_conversation_history.json") == (
        "ui_messages.json",
        "task_metadata.json",
        "history_item.json",
    )


def test_a_task_reads_alike_in_every_two_pieces() -> None:
    expect_every_split_to_read_alike(TASKS, task(ROO, request(1), request(4), request(8)))
    expect_every_split_to_read_alike(TASKS, task(PLAIN, request(1), request(2, conversationHistoryDeletedRange=[0, 1])))
