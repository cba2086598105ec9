"""The documents from which `protocol/` is generated."""

import json
from collections.abc import Iterator
from typing import Any, cast

from ullage.api.methods import METHODS, methods_document, schema_document, settings_schema
from ullage.api.protocol import CODES
from ullage.model.settings import Settings


def references(schema: Any) -> Iterator[str]:
    """Yields every `$ref` in a schema."""
    if isinstance(schema, list):
        for item in cast("list[Any]", schema):
            yield from references(item)
    if isinstance(schema, dict):
        for key, value in cast("dict[str, Any]", schema).items():
            if key == "$ref":
                yield value
            yield from references(value)


def test_documents_are_the_same_every_time() -> None:
    for document in (methods_document, schema_document, settings_schema):
        assert json.dumps(document()) == json.dumps(document())


def test_every_method_names_types_that_the_schema_defines() -> None:
    document, definitions = methods_document(), schema_document()["$defs"]
    assert [method["name"] for method in document["methods"]] == [method.name for method in METHODS]
    for method in document["methods"]:
        assert method["params"] in definitions
        assert method["result"] in definitions or method["kind"] == "notification"
    for other in (*document["notifications"], *document["updates"]):
        assert other.get("params", other.get("type")) in definitions


def test_every_error_has_its_code_and_the_way_up_to_the_root() -> None:
    errors = {error["kind"]: error for error in methods_document()["errors"]}
    assert {kind: error["code"] for kind, error in errors.items()} == {
        kind.__name__: code for kind, code in CODES.items()
    }
    assert errors["SessionNotFound"]["parents"] == ["NotFound"]
    assert errors["UllageError"]["parents"] == []


def test_references_lead_to_definitions() -> None:
    schema = schema_document()
    assert {name.removeprefix("#/$defs/") for name in references(schema)} <= schema["$defs"].keys()


def test_every_definition_says_in_one_line_what_it_is() -> None:
    for name, definition in schema_document()["$defs"].items():
        assert definition["description"], name
        assert "\n" not in definition["description"], name


def test_settings_are_flat_keys_with_default_and_description_and_refer_to_nothing() -> None:
    schema = settings_schema()
    assert list(references(schema)) == []
    for key, value in schema["properties"].items():
        assert {"default", "description"} <= value.keys(), key
    assert schema["properties"]["context.warnAt"]["default"] == Settings().context.warn_at
    assert schema["properties"]["context.reserve"]["type"] == ["integer", "null"]
