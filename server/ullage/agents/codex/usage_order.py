"""Decides to which answer of a Codex session file a usage belongs.

Codex reports the usage of each request as a `token_count`. Its place in the file has changed: older versions write it
before the items of the answer, newer ones after them, and then before or after the results of the answer's tools. So
the place is judged by what the file has written so far, never by the version:

- While an answer is being written, the usage is that answer's.
- If the model has written nothing since the user's last message, it belongs to the answer that comes next.
- If the last answer has its usage already, too.
- Otherwise the last answer's usage is missing, and the turn's first answer has shown the order.
"""

from typing import Any

from ullage.formats.parsing import as_count
from ullage.formats.provider_usage import convert_usage
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.json_values import JsonObject, as_object
from ullage.model.usage import Usage


class UsageOrder:
    """Adds each usage to the answer that it belongs to. `precedes` says whether this file writes a usage before its
    answer.

    `size` is the tokens of the last reported request with its answer, and `size_before` those of the request before it;
    0 if unknown. `is_copied` says that the usages which are read now are another conversation's, whose records come
    first in the file.
    """

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._waiting: Usage | None = None
        self.is_copied = False
        self._answer = ""
        self._reported = False
        self._last: Any = None
        self._preceded = False
        self.precedes = False
        self.size = 0
        self.size_before = 0
        self._estimate: int = 0

    def prompt(self) -> None:
        """Notes that the user's next message was read, so that the model has written nothing since."""
        self._answer = ""

    def compact(self) -> None:
        """Notes a compaction. A usage that still waits for its answer was that of the request for the summary, so it is
        dropped and shows nothing about the order."""
        if self._waiting:
            self.precedes = self._preceded
        self._answer, self._waiting = "", None

    def begin_answer(self) -> None:
        """Notes the first item of an answer. In a turn's first answer this shows whether the usage came before it."""
        if not self._answer:
            self.precedes = self._waiting is not None

    def answer(self, message_id: str) -> None:
        """Notes that the answer `message_id` is complete, and reports the usage that waited for it."""
        self._answer, self._reported = message_id, False
        if self._waiting:
            usage, self._waiting = self._waiting, None
            self._report(usage)

    def count(self, payload: JsonObject, *, answering: bool, timestamp: int = 0) -> bool:
        """Reads a `token_count` event and reports its usage, now or with the next answer. Returns False if it repeats
        the one before, because only the rate limits changed.

        `answering` is true if the file has just written items of an answer. After a compaction or a return to an
        earlier turn, Codex writes its own estimate of the context, in Unix milliseconds at `timestamp`: only the total
        is not 0. Codex acts on it until the next answer.
        """
        info = as_object(payload.get("info"))
        raw = as_object(info.get("last_token_usage"))
        estimate = as_count(raw.get("total_tokens"))
        if estimate and not convert_usage(raw).total:
            if estimate == self._estimate:
                return False
            self._builder.estimate(estimate, timestamp)
            self.size = self._estimate = estimate
            return True
        total = info.get("total_token_usage") or raw
        if not total or total == self._last:
            return False
        self._last = total
        self._place(convert_usage(raw), answering=answering)
        return True

    def record(self, payload: JsonObject) -> bool:
        """Reads a `token_usage_record`, which follows its answer, and reports its usage. Returns False, and reports
        nothing, if no answer without a usage came before it: the record is then that of a request for a summary."""
        # The thread's total is that of the `token_count` which repeats this usage.
        self._last = as_object(payload.get("thread_token_usage")) or self._last
        if not self._answer or self._reported:
            return False
        self.precedes = False
        self._report(convert_usage(as_object(payload.get("usage"))))
        return True

    def _place(self, usage: Usage, *, answering: bool) -> None:
        if not usage.total:
            return
        self._preceded = self.precedes
        if answering and self._answer:
            self.precedes = False
        elif not self._answer or self._reported:
            self.precedes = True
        if self.precedes:
            self._waiting = usage
        else:
            self._report(usage)

    def _report(self, usage: Usage) -> None:
        if usage.total:
            # A session that was written by `ullage continue` has a usage, and a total of 0.
            is_unpaid = bool(self._last) and not any(map(as_count, as_object(self._last).values()))
            self._builder.report(usage, self._answer, is_copied=self.is_copied or is_unpaid)
            self._estimate = 0
            self.size_before, self.size = self.size, usage.total
        self._reported = True
