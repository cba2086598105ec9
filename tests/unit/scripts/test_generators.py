"""How the generators write a struct: members that may be missing, members that may be null, and their defaults."""

import re

from generators.typescript import typescript
from generators.wire import optional_members
from ullage.api.methods import METHODS
from ullage.api.protocol import CODES

TYPESCRIPT = typescript()


def members(name: str) -> dict[str, str]:
    """Returns a TypeScript interface's members by name, `?` included."""
    body = re.search(rf"^export interface {name} {{\n(.*?)^}}", TYPESCRIPT, re.MULTILINE | re.DOTALL)
    assert body, name
    return dict(re.findall(r"^  readonly (\S+): (.+);$", body[1], re.MULTILINE))


def test_params_may_leave_out_what_has_a_default_and_never_need_null() -> None:
    assert members("CommitParams") == {"sessionId": "string", "previewId": "string", "summary?": "string"}


def test_settings_may_leave_out_everything_and_set_null_where_that_is_a_value() -> None:
    context = members("ContextSettings")
    assert all(name.endswith("?") for name in context)
    assert (context["reserve?"], context["warnAt?"]) == ("number | null", "number")


def test_results_leave_out_nothing_and_say_null() -> None:
    result = members("CompactResult")
    assert not any(name.endswith("?") for name in result)
    assert result["editId"] == "string | null"


def test_results_that_omit_defaults_leave_out_and_never_say_null() -> None:
    assert members("EditInfo")["partOf?"] == "string"


def test_what_is_unset_is_left_out() -> None:
    assert members("Notice")["description?"] == "string"


def test_a_generic_struct_is_written_out_where_it_is_used() -> None:
    assert members("UsageResult")["_meta"] == "{ readonly ullage: UsageMeta }"


def test_a_union_has_its_own_name_and_its_parts_their_tag() -> None:
    assert members("SessionNotification")["update"] == "Update"
    assert members("Message")["content"] == "readonly Block[]"
    assert members("ToolUseBlock")["type"] == '"tool_use"'


def test_what_may_be_missing_or_null_is_listed_by_type() -> None:
    listed = optional_members()
    assert "editId" in listed["CompactResult"]
    assert "limit" in listed["SearchParams"]
    assert "query" not in listed["SearchParams"]


def test_the_meaning_of_a_missing_member_is_documented() -> None:
    assert "/** @default 10 */\n  readonly limit?: number;" in TYPESCRIPT


def test_every_method_and_error_code_is_there() -> None:
    for method in METHODS:
        assert len(re.findall(f"""["']ullage/{method.name}["']""", TYPESCRIPT)) == 1
    for kind, code in CODES.items():
        assert re.search(rf"^  {kind.__name__}(:| =) {code},$", TYPESCRIPT, re.MULTILINE), kind
