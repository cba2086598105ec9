import json
from typing import Any

from support.foreign import messages_of, reports_of, texts_of
from support.growing_files import expect_every_split_to_read_alike
from ullage.agents.cline.tasks import FORMAT
from ullage.agents.transcripts import companions_of, read_document
from ullage.formats.parsing import Document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.transcript.fold import project

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


def view_of(transcript: ImportedTranscript) -> list[str]:
    return [text.partition(": ")[2] for text in texts_of(project(transcript.events))]


PLAIN = [said("user", f"go {DETAILS}"), said("assistant", "one"), said("user", "on"), said("assistant", "two")]


def test_the_usage_of_each_request_comes_from_what_the_user_was_shown() -> None:
    transcript = read_document(task(PLAIN, request(1), request(2, 200)))
    answers = [message for message in messages_of(transcript) if message.role == "assistant"]
    reports = reports_of(transcript)
    assert [(r.message_id, r.usage.prompt, r.usage.total) for r in reports] == [
        (answers[0].id, 155, 164),
        (answers[1].id, 255, 264),
    ]
    assert (transcript.format, transcript.agent, transcript.session_id) == ("cline-task", "Cline", "1790")
    assert (transcript.title, transcript.cwd) == ("count the barrels", "/home/ann/barrels")


def test_a_request_that_failed_takes_no_answers_place() -> None:
    failed, running = request(1, 1), request(9, None)
    transcript = read_document(task(PLAIN, failed, request(2), request(3, 200), running))
    assert [report.usage.prompt for report in reports_of(transcript)] == [155, 255]
    timed = [
        said("user", "go", 1),
        said("assistant", "one", 20),
        said("user", "on", 21),
        said("assistant", "two", 60),
    ]
    transcript = read_document(task(timed, request(2), request(30, 300), request(50, 200)))
    assert [report.usage.prompt for report in reports_of(transcript)] == [155, 255]


def test_messages_that_cline_no_longer_sends_leave_the_context() -> None:
    later = [said("user", "more"), said("assistant", "three"), said("user", "end"), said("assistant", "four")]
    shown = [request(number, 100 + number) for number in range(3)]
    last = request(4, conversationHistoryDeletedRange=[2, 3])
    transcript = read_document(task([*PLAIN, *later], *shown, last))
    assert view_of(transcript) == [
        f"go {DETAILS}",
        "one",
        "[Older messages were left out here to make room.]",
        *("more", "three", "end", "four"),
    ]
    assert "assistant: two" in texts_of(messages_of(transcript))


def test_the_model_is_that_of_the_task_at_the_time() -> None:
    timed = [said("user", "go", 1), said("assistant", "one", 20), said("user", "on", 21), said("assistant", "two", 60)]
    used = [{"ts": T, "model_id": "m1"}, {"ts": T + 30, "model_id": "m2"}]
    transcript = read_document(task(timed, task_metadata={"model_usage": used}))
    assert transcript.model == "m1"
    assert "m2" in str(transcript.events)


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


def test_roo_codes_summaries_and_hidden_messages_leave_the_rest_of_the_context() -> None:
    item = {"id": "r-2", "task": "Count", "workspace": "/home/ann/r", "parentTaskId": "r-1", "ts": T, "number": 1}
    requests = [request(1, 300), request(4, 400), request(8, 40)]
    transcript = read_document(task(ROO, *requests, history_item=item))
    view = project(transcript.events)
    assert view[0].compaction is not None
    assert view[0].compaction.summary == "We counted."
    assert [message.text for message in view[1:]] == ["on", "[2 messages hidden]", "end", "three"]
    assert "assistant: two" in texts_of(messages_of(transcript))
    # Roo Code's counts include the cache, where they can.
    assert [report.usage.prompt for report in reports_of(transcript)] == [300, 400, 95]
    assert (transcript.agent, transcript.model, transcript.parent) == ("Roo Code", "m7", "r-1")
    assert (transcript.session_id, transcript.cwd, transcript.title) == ("r-2", "/home/ann/r", "Count")


def test_an_older_summary_keeps_the_first_message() -> None:
    old = [
        said("user", "go", 1),
        said("assistant", "one", 2),
        said("user", "We counted.", 3, isSummary=True),
        said("user", "on", 4),
    ]
    transcript = read_document(task(old))
    view = project(transcript.events)
    assert (view[0].text, view[2].text) == ("go", "on")
    assert view[1].compaction is not None


def test_a_history_alone_is_known_by_what_only_these_programs_write() -> None:
    alone = Document(name="api_conversation_history.json", value=PLAIN)
    assert read_document(alone).format == "cline-task"
    metrics = said("assistant", "one", metrics={"tokens": {"prompt": 90, "completion": 2, "cached": 30}})
    transcript = read_document(Document(name="x", value=[said("user", "go"), metrics]))
    assert [report.usage.total for report in reports_of(transcript)] == [92]
    assert (
        read_document(Document(name="x", value=[said("user", "go"), said("assistant", "one")])).format != "cline-task"
    )


def test_the_files_beside_a_history_are_known() -> None:
    assert companions_of("/x/tasks/1/api_conversation_history.json") == (
        "ui_messages.json",
        "task_metadata.json",
        "history_item.json",
    )


def test_a_task_reads_alike_in_every_two_pieces() -> None:
    expect_every_split_to_read_alike(FORMAT, task(ROO, request(1), request(4), request(8)))
    expect_every_split_to_read_alike(
        FORMAT, task(PLAIN, request(1), request(2, conversationHistoryDeletedRange=[0, 1]))
    )
