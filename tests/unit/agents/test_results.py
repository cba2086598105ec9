"""What a tool printed, from the text of its result."""

import pytest

from ullage.agents.results import printed


def test_the_output_of_a_command_is_taken_out_of_codexs_envelope() -> None:
    text = '{"output":"\\nCargo.toml\\nREADME.md\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}'
    assert printed(text) == "\nCargo.toml\nREADME.md\n"


def test_a_failed_commands_exit_code_stays_before_its_output() -> None:
    text = '{"output":"no such file\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}'
    assert printed(text) == "Exit code 2\nno such file\n"


def test_an_envelope_whose_output_was_shortened_is_one_all_the_same() -> None:
    text = '{"output":"first\\n\n[… 6,160 characters left out to make room …]\n\\nlast 5","metadata":{"exit_code":0}}'
    assert printed(text) == "first\n\n[… 6,160 characters left out to make room …]\n\nlast 5"


@pytest.mark.parametrize(
    "text",
    [
        "plain text",
        '{"output":"cut in the mid',
        '{"output":["a","list"],"metadata":{}}',
        '{"output":"a result of its own, without what Codex adds"}',
        "",
    ],
)
def test_any_other_result_is_returned_as_it_is(text: str) -> None:
    assert printed(text) == text


@pytest.mark.parametrize(
    "before",
    ["Output: ", "<untrusted_context>\nOutput: ", "Command: go test\n  ./...\nDirectory: (root)\nOutput: "],
)
def test_what_gemini_cli_and_qwen_code_write_before_an_output_is_left_out(before: str) -> None:
    assert printed(f"{before}ok  \tshop\t0.1s\nExit Code: 0") == "ok  \tshop\t0.1s\nExit Code: 0"
