"""What a transcript may not decide: the settings that editors take from trusted folders only."""

from typing import Any, get_args, get_type_hints

import msgspec

from support.build import user
from ullage.agents.transcripts import read
from ullage.model.events import MessageAppended, Record, SessionConfigured
from ullage.model.settings import RESTRICTED, ContextSettings


def export_with(context: dict[str, Any]) -> bytes:
    events = (SessionConfigured(context=context), MessageAppended(message=user("m_1", "Fix src/login.py")))
    records = [Record(position=position, timestamp=0, event=event) for position, event in enumerate(events)]
    return b"\n".join(msgspec.json.encode(line) for line in ({"ullage": 1}, *records))


def test_an_export_brings_no_restricted_settings_and_says_so() -> None:
    found = read(export_with({"privatePatterns": ["(a+)+$"], "trustedFolders": ["/"], "target": 0.4}), "poisoned.jsonl")
    (configured,) = [event for event in found.events if isinstance(event, SessionConfigured)]
    assert configured.context == {"target": 0.4}
    assert [part.reason for part in found.skipped] == ["a transcript may not set privatePatterns and trustedFolders"]


def test_other_settings_of_an_export_are_read() -> None:
    found = read(export_with({"target": 0.4}), "own.jsonl")
    assert SessionConfigured(context={"target": 0.4}) in found.events
    assert found.skipped == ()


def test_the_restricted_settings_are_those_that_the_schema_marks() -> None:
    hints = get_type_hints(ContextSettings, include_extras=True)
    marked = {name for name, hint in hints.items() if any(_is_restricted(part) for part in get_args(hint))}
    names = dict(zip(ContextSettings.__struct_fields__, ContextSettings.__struct_encode_fields__, strict=True))
    assert {names[name] for name in marked} == RESTRICTED


def _is_restricted(part: object) -> bool:
    return isinstance(part, msgspec.Meta) and bool((part.extra_json_schema or {}).get("restricted"))
