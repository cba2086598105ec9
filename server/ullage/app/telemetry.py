"""Spans and metrics of conversations through OpenTelemetry's API, where it is installed (extra `otel`), and log records
as JSON lines.

Which SDK collects them is the choice of the embedding program, or of who starts a server; without one, OpenTelemetry
itself does nothing. Names are those of the semantic conventions for generative AI where they have one. No text of the
transcript is ever an attribute: only ids, model names, numbers and the types of errors.
"""

import json
import logging
import re
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from typing import Any, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Import much that the answer to `initialize` does not need.
    from ullage.model.events import Record
    from ullage.model.updates import CompactionMeta
    from ullage.model.usage import Usage
    from ullage.service.conversation.conversation import Conversation
    from ullage.service.ports.store import SessionStore

# Requests that the doors answer without anything loaded: importing OpenTelemetry's API takes 70 ms.
_AT_ONCE = frozenset(
    {"initialize", "shutdown", "ping", "server/discover", "tools/list", "resources/list", "resources/templates/list"}
)
_SESSION, _MODEL, _ERROR = "gen_ai.conversation.id", "gen_ai.request.model", "error.type"


class Telemetry:
    """The spans and metrics of this process."""

    def __init__(self, trace: Any, metrics: Any) -> None:
        self._tracer = trace.get_tracer("ullage")
        self._failed = trace.Status(trace.StatusCode.ERROR)
        meter = metrics.get_meter("ullage")
        self._tokens = meter.create_histogram("ullage.context.tokens", "{token}", "Tokens in a context")
        self._share = meter.create_histogram("ullage.context.share", "1", "Share of the window that a context fills")
        self._usage = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of reported requests")
        self._compactions = meter.create_counter("ullage.compactions", "{compaction}", "Times that room was made")
        self._errors = meter.create_counter("ullage.errors", "{error}", "Calls that ended with an error")

    @contextmanager
    def span(self, name: str, attributes: dict[str, str | int]) -> Generator[Any]:
        """Runs the block in a span. Of an error only the type is recorded, because its words may quote a message."""
        options = {"record_exception": False, "set_status_on_exception": False}
        with self._tracer.start_as_current_span(name, attributes=attributes, **options) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute(_ERROR, type(error).__name__)
                span.set_status(self._failed)
                self._errors.add(1, {_ERROR: type(error).__name__, "ullage.operation": name})
                raise

    @contextmanager
    def compaction(self, conversation: "Conversation", trigger: str) -> Generator[None]:
        """Runs a block that makes room. A block that changes nothing counts as no compaction."""
        before, seen = conversation.used, conversation.edits_seen
        named: dict[str, str | int] = {
            _SESSION: conversation.id,
            _MODEL: conversation.model,
            "ullage.compaction.trigger": trigger,
            "ullage.context.tokens.before": before,
        }
        with self.span("ullage.compaction", named) as span:
            yield
            span.set_attribute("ullage.context.tokens.after", conversation.used)
        if conversation.edits_seen != seen:
            self._compactions.add(1, {_MODEL: conversation.model, "ullage.compaction.trigger": trigger})
            self.measure(conversation)

    def begin(self, session_id: str, model: str, trigger: str) -> Any:
        """Begins the span of a compaction that another task makes."""
        attributes = {_SESSION: session_id, _MODEL: model, "ullage.compaction.trigger": trigger}
        return self._tracer.start_span("ullage.compaction", attributes=attributes)

    def end(self, span: Any, model: str, sizes: "CompactionMeta", *, is_done: bool) -> None:
        if is_done:
            span.set_attribute("ullage.context.tokens.before", sizes.context_size_before)
            span.set_attribute("ullage.context.tokens.after", sizes.context_size_after)
            self._compactions.add(1, {_MODEL: model, "ullage.compaction.trigger": sizes.trigger})
        else:
            span.set_status(self._failed)
        span.end()

    def measure(self, conversation: "Conversation") -> None:
        """Records how full a context is."""
        attributes = {_MODEL: conversation.model}
        self._tokens.record(conversation.used, attributes)
        if conversation.budget is not None:
            self._share.record(conversation.used / conversation.budget.window, attributes)

    def report(self, conversation: "Conversation", usage: "Usage") -> None:
        for kind, tokens in (("input", usage.prompt), ("output", usage.output_tokens)):
            self._usage.record(tokens, {_MODEL: conversation.model, "gen_ai.token.type": kind})


@cache
def telemetry() -> Telemetry | None:
    """Returns the telemetry of this process, or None where OpenTelemetry's API is not installed."""
    with suppress(ImportError):
        return Telemetry(import_module("opentelemetry.trace"), import_module("opentelemetry.metrics"))
    return None


def spanned(name: str, session_id: str = "", **attributes: str) -> AbstractContextManager[Any]:
    """Returns a span for a block, or nothing without OpenTelemetry. In attributes' names `_` stands for a dot."""
    found = telemetry()
    if found is None:
        return nullcontext()
    named = {name.replace("_", "."): value for name, value in attributes.items()}
    return found.span(name, {_SESSION: session_id, **named} if session_id else {**named})


def request_span(method: str, params: Any) -> AbstractContextManager[Any]:
    """Returns the span of a request, `ullage.request`, or nothing to enter."""
    if method in _AT_ONCE:
        return nullcontext()
    session_id = getattr(params, "session_id", None) or ""
    return spanned("ullage.request", session_id, rpc_system="jsonrpc", rpc_method=method)


def compacting(conversation: "Conversation", trigger: str) -> AbstractContextManager[None]:
    """Returns the span of a block that makes room if that is due, or nothing to enter."""
    found = telemetry()
    return nullcontext() if found is None else found.compaction(conversation, trigger)


def measured(conversation: "Conversation", usage: "Usage | None") -> None:
    """Records how full a context is after messages were appended, and the usage that was reported with them."""
    found = telemetry()
    if found is not None:
        found.measure(conversation)
        if usage is not None:
            found.report(conversation, usage)


def traced(store: "SessionStore") -> "SessionStore":
    """Returns the store with a span around each commit, or the store itself."""
    return store if telemetry() is None else cast("SessionStore", _TracedStore(store))


class _TracedStore:
    def __init__(self, store: "SessionStore") -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def create(self, session_id: str, records: "Sequence[Record]") -> None:
        with spanned("ullage.store.commit", session_id):
            self._store.create(session_id, records)

    def append(self, session_id: str, records: "Sequence[Record]") -> None:
        with spanned("ullage.store.commit", session_id):
            self._store.append(session_id, records)


# Ids that Ullage makes (`RandomIds`), and names such as those of models: no sentence.
_NAME = re.compile(r"[\w.:/-]{1,80}")


class JsonLogFormatter(logging.Formatter):
    """Formats log records as JSON lines for a service: `time`, `level`, `logger`, `event` (the message before its
    values are put in), `values`, and `error`, the type of the exception.

    Values are numbers and names. Of any other text only the length is written, and of an error the type,
    because either may quote a message.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            # Ullage's own messages are fixed texts. Another library's may be anything.
            "event": str(record.msg) if record.name.split(".")[0] == "ullage" else "",
        }
        if record.args:
            given = record.args if isinstance(record.args, tuple) else (record.args,)
            line["values"] = [_harmless(value) for value in cast("tuple[Any, ...]", given)]
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False)


def _harmless(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, BaseException):
        return type(value).__name__
    text = str(value)
    return text if _NAME.fullmatch(text) else f"({len(text)} characters)"
