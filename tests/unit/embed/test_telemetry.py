"""Spans, metrics and logs of an embedding program, with OpenTelemetry's SDK; none has a text of the transcript."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace

from support.collected_telemetry import Collected, collecting
from ullage import ContextManager, JsonLogFormatter, SummaryTask
from ullage.model.errors import InvalidRequest

SECRET = "gooseneck"
WINDOW = 4_000


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    with collecting(monkeypatch) as found:
        yield found


def talk(context: ContextManager) -> None:
    for number in range(12):
        context.add_message({"role": "user", "content": f"{SECRET} {number}? " + "fog and rain " * 60})
        context.add_message(
            {"role": "assistant", "content": f"The {SECRET}."},
            usage={"prompt_tokens": 200 * (number + 1), "completion_tokens": 7},
        )


def test_what_happens_is_a_span_with_ids_and_numbers_alone(collected: Collected) -> None:
    def summarize(_: SummaryTask) -> str:
        return f"All about a {SECRET}."

    with ContextManager("gpt-4o", window=WINDOW, llm=summarize) as context:
        talk(context)
        context.compact_sync()
        context.search(SECRET)
        session = context.session_id
    (compaction,) = collected.spans("ullage.compaction")
    attributes = dict(compaction.attributes)
    assert attributes["gen_ai.conversation.id"] == session
    assert attributes["gen_ai.request.model"] == "gpt-4o"
    assert attributes["ullage.compaction.trigger"] == "manual"
    assert attributes["ullage.context.tokens.after"] < attributes["ullage.context.tokens.before"]
    (request,) = collected.spans("ullage.summary.request")
    assert request.context.trace_id == compaction.context.trace_id
    assert len(collected.spans("ullage.search")) == 1
    commits = collected.spans("ullage.store.commit")
    assert len(commits) >= 25
    assert {span.attributes["gen_ai.conversation.id"] for span in commits} == {session}
    assert SECRET not in collected.everything()


def test_figures_are_metrics(collected: Collected) -> None:
    with ContextManager("gpt-4o", window=WINDOW) as context:
        talk(context)
        assert context.compact_if_needed_sync() is None
        context.compact_sync()
        used = context.token_usage
    points = collected.points()
    (tokens,) = points["ullage.context.tokens"]
    assert tokens.count == 25
    assert tokens.min <= used <= tokens.max
    (share,) = points["ullage.context.share"]
    assert 0 < share.max <= 1
    usage = {point.attributes["gen_ai.token.type"]: point.sum for point in points["gen_ai.client.token.usage"]}
    assert usage == {"input": 200 * 78, "output": 84}
    (compactions,) = points["ullage.compactions"]
    assert compactions.value == 1
    # The number of conversations must not multiply the number of time series.
    assert not any("gen_ai.conversation.id" in point.attributes for each in points.values() for point in each)


def test_an_error_is_told_by_its_type_alone(collected: Collected) -> None:
    def summarize(_: SummaryTask) -> str:
        raise ValueError(f"no {SECRET} here")

    with ContextManager("gpt-4o", window=WINDOW, llm=summarize) as context:
        talk(context)
        context.compact_sync()
        with pytest.raises(InvalidRequest):
            context.search("?!")
    errors = {point.attributes["error.type"]: point.value for point in collected.points()["ullage.errors"]}
    assert errors["InvalidRequest"] == 1
    assert errors["ValueError"] >= 1
    (search,) = collected.spans("ullage.search")
    assert search.status.status_code is trace.StatusCode.ERROR
    assert SECRET not in collected.everything()


def test_a_program_s_span_is_the_parent(collected: Collected) -> None:
    with ContextManager("gpt-4o", window=WINDOW) as context:
        talk(context)
        with collected.tracers.get_tracer("program").start_as_current_span("turn") as turn:
            context.compact_sync()
    (compaction,) = collected.spans("ullage.compaction")
    assert compaction.parent.span_id == turn.get_span_context().span_id


def test_where_the_api_is_missing_nothing_is_imported_or_wrapped() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
from ullage import ContextManager
from ullage.app.telemetry import _TracedStore
with ContextManager("gpt-4o") as context:
    context.add_message({"role": "user", "content": "Hello."})
    assert not isinstance(context._host.workspace.ports.store, _TracedStore)
print([name for name in sys.modules if name.startswith("opentelemetry.")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "[]\n"


def test_log_lines_are_json_without_what_was_said() -> None:
    def line(name: str, words: str, *args: object, error: BaseException | None = None) -> dict[str, Any]:
        info = None if error is None else (type(error), error, None)
        record = logging.LogRecord(name, logging.WARNING, "file.py", 1, words, args, info)
        return json.loads(JsonLogFormatter().format(record))

    found = line("ullage.service", "session %s: %s of %d", "s_1a2b", ValueError(SECRET), 7, error=ValueError(SECRET))
    assert found["event"] == "session %s: %s of %d"
    assert found["values"] == ["s_1a2b", "ValueError", 7]
    assert (found["level"], found["logger"], found["error"]) == ("warning", "ullage.service", "ValueError")
    assert line("ullage.embed", "%s", f"the {SECRET} is bent")["values"] == ["(21 characters)"]
    assert SECRET not in json.dumps(line("httpx", f"sent {SECRET}"))
