"""The documents from which `protocol/` is generated, and the one table that gives a code for every error class."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from lsprotocol import types

from ullage.api.methods import METHODS, methods_document, schema_document, settings_schema
from ullage.api.protocol import CODES, acp_error_object, code_of
from ullage.model.errors import NotFound, UllageError
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


def tree(kind: type[UllageError]) -> list[type[UllageError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in tree(child))]


# Other tests may define subclasses, so only the classes of the model are listed.
ERRORS = [kind for kind in tree(UllageError) if kind.__module__ == UllageError.__module__]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_has_a_code(kind: type[UllageError]) -> None:
    assert kind in CODES


def test_codes_are_positive_unless_they_mean_what_json_rpc_and_the_language_server_protocol_mean_by_them() -> None:
    assert {code for code in CODES.values() if code <= 0} == {
        types.ErrorCodes.InvalidParams,
        types.LSPErrorCodes.RequestCancelled,
    }


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_agent_says_that_something_is_not_found_by_acp_s_code(kind: type[UllageError]) -> None:
    code = acp_error_object(kind("There is none.")).code
    assert code == (-32002 if issubclass(kind, NotFound) else CODES[kind])


def test_codes_of_our_own_are_given_once() -> None:
    own = [code for code in CODES.values() if code > 0]
    assert len(own) == len(set(own))


def test_an_error_that_is_not_listed_has_the_code_of_the_nearest_class_above() -> None:
    class PageNotFound(NotFound):
        pass

    assert code_of(PageNotFound("There is no page 3.")) == CODES[NotFound]
