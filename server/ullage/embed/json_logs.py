"""Log records as JSON lines that never contain a text of the transcript."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any, cast

# Ids that Ullage makes (`RandomIds`), and names such as those of models: no sentence.
_NAME = re.compile(r"[\w.:/-]{1,80}")


class JsonLogFormatter(logging.Formatter):
    """Formats log records as JSON lines for a service: `time`, `level`, `logger`, `event` (the message before its
    values are put in), `values`, and `error`, the type of the exception.

    Values are numbers and names. Of any other text only the length is written, and of an error the type,
    because either may quote a message.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record as one line."""
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
