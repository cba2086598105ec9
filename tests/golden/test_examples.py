"""Every message has a committed example that has the right shape, round-trips, and equals what the code makes today.

`./scripts/test tests/golden --update-golden` writes `protocol/examples/` again.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
from jsonschema import Draft202012Validator

from support.example_messages import type_of
from ullage.api.methods import METHODS, schema_document, settings_schema
from ullage.api.protocol import CLIENT_METHODS, CODES
from ullage.model.updates import CompactionStatus, Update

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
DEFINITIONS = schema_document()["$defs"]
# The root fields that ACP v1 (schema 1.25.0) gives each update. Ullage's own fields belong in `_meta`.
ACP_FIELDS = {
    "usage_update": {"used", "size", "cost"},
    "compaction_update": {"compactionId", "status", "summary", "error"},
    "compaction_summary_chunk": {"compactionId", "content"},
    "notice": {"severity", "title", "description"},
    "session_info_update": {"title", "updatedAt"},
    "user_message_chunk": {"content", "messageId"},
    "agent_message_chunk": {"content", "messageId"},
    "agent_thought_chunk": {"content", "messageId"},
    "tool_call": {"toolCallId", "title", "name", "kind", "status", "content", "locations", "rawInput", "rawOutput"},
    "tool_call_update": {
        "toolCallId",
        "title",
        "name",
        "kind",
        "status",
        "content",
        "locations",
        "rawInput",
        "rawOutput",
    },
}


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    """Returns the faults that JSON Schema finds in a value."""
    validator: Any = Draft202012Validator(schema)
    return [error.message for error in validator.iter_errors(value)]


def updates(committed: Mapping[str, Any]) -> list[Any]:
    return [message["update"] for name, message in committed.items() if name.startswith("update.")]


def test_examples_are_what_the_code_makes_today(made: Mapping[str, Any], committed: Mapping[str, Any]) -> None:
    assert sorted(committed) == sorted(made)
    changed = [name for name in made if made[name] != committed[name]]
    assert not changed, f"{changed} changed; if that is meant: ./scripts/test tests/golden --update-golden"


def test_examples_are_valid_by_the_schema(committed: Mapping[str, Any]) -> None:
    for name, message in committed.items():
        assert not faults({"$ref": f"#/$defs/{type_of(name).__name__}", "$defs": DEFINITIONS}, message), name


def test_examples_decode_and_encode_to_the_same_json(committed: Mapping[str, Any]) -> None:
    for name, message in committed.items():
        decoded = msgspec.convert(message, type_of(name))
        assert json.loads(msgspec.json.encode(decoded)) == message, name


def test_every_method_has_examples_of_params_and_result(committed: Mapping[str, Any]) -> None:
    for method in METHODS:
        name = method.name.replace("/", ".")
        assert f"{name}.params" in committed
        assert (f"{name}.result" in committed) is not method.notification, name


def test_every_request_to_the_client_has_examples_of_params_and_result(committed: Mapping[str, Any]) -> None:
    for method in CLIENT_METHODS:
        name = method.name.replace("/", ".")
        assert {f"{name}.params", f"{name}.result", f"{name}.cancelled.result"} <= committed.keys()


def test_every_update_and_status_has_an_example(committed: Mapping[str, Any]) -> None:
    shown = updates(committed)
    assert {update["sessionUpdate"] for update in shown} == {
        variant.__struct_config__.tag for variant in get_args(Update)
    }
    compactions = [update for update in shown if update["sessionUpdate"] == "compaction_update"]
    assert {update["status"] for update in compactions} == {status.value for status in CompactionStatus}


def test_every_notice_has_an_example(committed: Mapping[str, Any]) -> None:
    source = (SOURCE / "service" / "conversation" / "bus.py").read_text()
    kinds = set(re.findall(r'^    "(\w+)": Severity', source, re.MULTILINE))
    # Those of a store in PostgreSQL need a server.
    needed = {kind for kind in kinds if not kind.startswith("store_")}
    assert needed
    assert {update["_meta"]["ullage"]["kind"] for update in updates(committed) if "severity" in update} == needed


def test_every_error_that_is_raised_has_an_example_with_its_code(committed: Mapping[str, Any]) -> None:
    # Errors that the command line, the MCP server and the embeddable classes raise never go over this wire.
    served = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in ("cli", "embed", "mcp")]
    source = "\n".join(path.read_text() for path in served)
    codes = {kind.__name__: code for kind, code in CODES.items()}
    raised = {kind for kind in codes if re.search(rf"(?<!class )\b{kind}\(", source)}
    shown = {name.removeprefix("error."): error for name, error in committed.items() if name.startswith("error.")}
    assert raised <= shown.keys() <= codes.keys()
    for kind, error in shown.items():
        assert (error["code"], error["data"]["kind"]) == (codes[kind], kind)


def test_updates_have_no_root_fields_beyond_acp(committed: Mapping[str, Any]) -> None:
    for update in updates(committed):
        own = update.keys() - {"sessionUpdate", "_meta"} - ACP_FIELDS[update["sessionUpdate"]]
        assert not own, f"{update['sessionUpdate']} has {own}"


def test_no_update_type_could_have_root_fields_beyond_acp() -> None:
    for variant in get_args(Update):
        properties = DEFINITIONS[variant.__name__]["properties"].keys()
        assert properties <= ACP_FIELDS[variant.__struct_config__.tag] | {"sessionUpdate", "_meta"}


def test_the_settings_example_sets_every_setting_to_another_value_than_its_default(
    committed: Mapping[str, Any],
) -> None:
    schema = settings_schema()
    settings = dict(committed["settings"])
    groups = {group: settings.pop(group) for group in ("archive", "context", "hooks", "offline", "search", "summary")}
    flat = {f"{group}.{name}": value for group, values in groups.items() for name, value in values.items()} | settings
    assert not faults(schema, flat)
    assert flat.keys() == schema["properties"].keys()
    assert all(flat[name] != value["default"] for name, value in schema["properties"].items())


def test_a_messages_text_names_no_place_of_this_machine(committed: Mapping[str, Any]) -> None:
    assert str(Path.home()) not in json.dumps(committed)
    assert "/tmp/" not in json.dumps(committed)
