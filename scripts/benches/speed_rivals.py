"""The programs that Ullage is compared with, each used as its own documents say. Each is imported where it is used:
they belong to the `bench` dependency group, and importing them takes seconds.

No program fetches anything from the network. litellm reads its cost map and its o200k vocabulary from its own package
(`LITELLM_LOCAL_MODEL_COST_MAP`). LangChain counts approximately. agent-framework counts with a tokenizer object that
holds Ullage's packed o200k, without a cache.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benches import speed_sessions
from ullage.app.compose import open_workspace
from ullage.edits.counted import Stamp, count_view
from ullage.edits.drop import Keep, TokenBudgetStrategy, plan_drop
from ullage.model.events import MessageAppended, Record, SessionCreated
from ullage.model.settings import ContextSettings, Settings
from ullage.service import sessions
from ullage.service.conversation.projection import Projection
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import get_counter
from ullage.tokens.vocabulary import load_encoding

# Work on a session of so many messages. What runs before the first `yield` is setup; then each step is one timed run.
Work = Callable[[int], Iterator[object]]
_MODEL = "gpt-4o"
# agent-framework's documents import the experimental part from this module.
_COMPACTION = "agent_framework._compaction"


def append(size: int) -> Iterator[object]:
    """Runs Ullage's whole append: the message is counted, stored and published, and the new total is read."""
    settings = Settings(context=ContextSettings(enabled=False))
    with (
        tempfile.TemporaryDirectory() as folder,
        open_workspace(Path(folder) / "bench.db", settings) as workspace,
        asyncio.Runner() as runner,
    ):
        # As in a server's loop: `Runner.run` also sets and resets a signal handler, a third of an append's time.
        run = runner.get_loop().run_until_complete
        session = sessions.new_session(workspace, SessionCreated(model=_MODEL))
        for start in range(0, size, 1_000):
            batch = speed_sessions.ours(start, min(start + 1_000, size))
            run(sessions.append(session, batch, None))
        while True:
            batch = speed_sessions.ours(size, size + 1)
            size += 1
            yield
            run(sessions.append(session, batch, None))
            assert session.used > 0


def keep_total(size: int) -> Iterator[object]:
    """Adds a message to an open session without a store, for a fair comparison with programs that store nothing."""
    counter = get_counter(_MODEL)
    session = Projection(counter, Calibration.prior(counter.error_share))
    session.apply(_records(session, 0, size))
    while True:
        (message,) = speed_sessions.ours(size, size + 1)
        size += 1
        yield
        event = MessageAppended(message=message, count=session.count(message))
        session.apply([Record(position=size, timestamp=1, event=event)])
        assert session.used > 0


def _records(session: Projection, start: int, stop: int) -> list[Record]:
    return [
        Record(position=position, timestamp=1, event=MessageAppended(message=message, count=session.count(message)))
        for position, message in enumerate(speed_sessions.ours(start, stop), start)
    ]


def litellm_counter(size: int) -> Iterator[object]:
    """Runs `litellm.token_counter` over the whole session, as litellm's router and budget checks call it."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm = import_module("litellm")

    messages: list[Any] = speed_sessions.as_dicts(0, size)
    while True:
        messages += speed_sessions.as_dicts(size, size + 1)
        size += 1
        yield
        litellm.token_counter(model=_MODEL, messages=messages)


def langchain_counter(size: int) -> Iterator[object]:
    """Runs LangChain's `count_tokens_approximately` over the whole session, as its middleware calls it each turn."""
    langchain = import_module("langchain_core.messages.utils")
    messages = _for_langchain(0, size)
    while True:
        messages += _for_langchain(size, size + 1)
        size += 1
        yield
        langchain.count_tokens_approximately(messages)


def agent_framework_append(size: int) -> Iterator[object]:
    """Runs agent-framework's incremental append, and its sum of the messages' counts."""
    library = import_module(_COMPACTION)
    messages, tokenizer = _for_agent_framework(0, size), _Tokenizer()
    _annotate(messages, tokenizer)
    while True:
        (message,) = _for_agent_framework(size, size + 1)
        size += 1
        yield
        library.append_compaction_message(messages, message, tokenizer=tokenizer)
        library.included_token_count(messages)


def drop_to_half(size: int) -> Iterator[object]:
    """Plans Ullage's token budget on a view with its counts."""
    counter = get_counter(_MODEL)
    messages = speed_sessions.ours(0, size)
    view = count_view(messages, counter)
    limit = view.used // 2
    while True:
        yield
        edit = plan_drop(view, TokenBudgetStrategy(), limit, Keep(first_user_id="m0"), Stamp(id="e", timestamp=1))
        assert edit is None or view.after(edit).used <= limit


def langchain_trim(size: int) -> Iterator[object]:
    """Runs LangChain's `trim_messages` to half, with its approximate count."""
    langchain = import_module("langchain_core.messages.utils")
    messages = _for_langchain(0, size)
    count = langchain.count_tokens_approximately
    limit = count(messages) // 2
    while True:
        yield
        langchain.trim_messages(messages, max_tokens=limit, token_counter=count, strategy="last")


def agent_framework_truncation(size: int) -> Iterator[object]:
    """Runs agent-framework's `TruncationStrategy` to half. Its earlier counts are kept, its earlier exclusions are
    not."""
    library = import_module(_COMPACTION)
    messages, tokenizer = _for_agent_framework(0, size), _Tokenizer()
    _annotate(messages, tokenizer)
    half = library.included_token_count(messages) // 2
    strategy = library.TruncationStrategy(max_n=half, compact_to=half, tokenizer=tokenizer)
    while True:
        for message in messages:
            library.set_excluded(message, excluded=False)
        yield
        asyncio.run(library.apply_compaction(messages, strategy=strategy, tokenizer=tokenizer))


def _for_langchain(start: int, stop: int) -> list[Any]:
    langchain = import_module("langchain_core.messages")
    kinds = (langchain.HumanMessage, langchain.AIMessage)
    return [kinds[(start + i) % 2](text) for i, text in enumerate(speed_sessions.texts(start, stop))]


def _for_agent_framework(start: int, stop: int) -> list[Any]:
    library = import_module("agent_framework")
    return [
        library.Message(role=speed_sessions.role(start + i).value, contents=[text])
        for i, text in enumerate(speed_sessions.texts(start, stop))
    ]


def _annotate(messages: list[Any], tokenizer: "_Tokenizer") -> None:
    library = import_module(_COMPACTION)
    library.annotate_token_counts(messages, tokenizer=tokenizer)


class _Tokenizer:
    """A tokenizer that implements agent-framework's `TokenizerProtocol`."""

    def __init__(self) -> None:
        self._encoding = load_encoding("o200k_base")

    def count_tokens(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


LANGCHAIN = "LangChain count_tokens_approximately"
# Each program and its work. Ullage comes first.
APPENDING: dict[str, Work] = {
    "Ullage: counted, the new total known": keep_total,
    "Ullage: append, stored and told too": append,
    "litellm.token_counter": litellm_counter,
    LANGCHAIN: langchain_counter,
    "agent-framework append and sum": agent_framework_append,
}
FITTING: dict[str, Work] = {
    "Ullage: oldest messages go": drop_to_half,
    "LangChain trim_messages": langchain_trim,
    "agent-framework TruncationStrategy": agent_framework_truncation,
}
