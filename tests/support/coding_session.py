"""A conversation of a coding agent about a failing test: prompts, tool calls, results, answers."""

from typing import Any

SYSTEM = (
    "You are a careful engineer. Work in small steps, run the tests after every change, "
    "and never edit files under vendor/."
)
TOOLS: list[dict[str, Any]] = [
    {
        "name": "read_file",
        "description": "Gives a file's text.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    {
        "name": "run_command",
        "description": "Runs a command and gives its output.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
]
_MODULES = ("forecast", "stations", "units", "cache", "parser", "report", "history", "alerts", "export", "cli")


def user(text: str, **fields: Any) -> dict[str, Any]:
    """Returns a prompt."""
    return {"role": "user", "content": text, **fields}


def answer(text: str, **fields: Any) -> dict[str, Any]:
    """Returns an answer of the model."""
    return {"role": "assistant", "content": text, **fields}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Returns an answer that is one tool call."""
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    return {"role": "assistant", "content": [block]}


def result(call_id: str, text: str) -> dict[str, Any]:
    """Returns a tool's result."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": [{"type": "text", "text": text}]}
    return {"role": "user", "content": [block]}


def first_turn() -> list[dict[str, Any]]:
    """Returns the task, a failing test run, and the model's reply to it."""
    output = "FAILED tests/test_units.py::test_converts_frost - assert 31.0 == 32.0\n1 failed, 41 passed in 1.88s"
    return [
        user("The test test_converts_frost fails since yesterday. Find out why and fix it. Do not change the test."),
        call("call_1", "run_command", command="pytest tests/test_units.py"),
        result("call_1", output),
        answer("The conversion rounds down before it adds the offset. I will look at units.py."),
    ]


def reading_turn(number: int) -> list[dict[str, Any]]:
    """Returns a turn that reads a module and judges it in a line: about 620 tokens, nearly all of them the file."""
    module = _MODULES[number % len(_MODULES)]
    return _turn(number, module_text(module, 40), f"{module}.py is sound. I decided to leave it as it is.")


def thinking_turn(number: int) -> list[dict[str, Any]]:
    """Returns a turn that reads a module and judges it at length: about 540 tokens, most of them the answer."""
    module = _MODULES[number % len(_MODULES)]
    steps = [f"{step}. {module}_{step} adds {step * 3 % 17} to a reading before it rounds" for step in range(20)]
    judged = f"I went through {module}.py line by line:\n" + ", which is right.\n".join(steps)
    return _turn(number, module_text(module, 6), f"{judged}.\nI decided to leave {module}.py as it is.")


def module_text(module: str, lines: int) -> str:
    """Returns some Python code, about 15 tokens a line."""
    return "\n".join(f"{module}_{line} = convert(readings[{line}], offset={line * 3 % 17})" for line in range(lines))


def _turn(number: int, text: str, judged: str) -> list[dict[str, Any]]:
    module = _MODULES[number % len(_MODULES)]
    call_id = f"call_{number + 1}"
    return [
        user(f"Please check {module}.py as well, the same mistake may be there."),
        call(call_id, "read_file", path=f"src/weather/{module}.py"),
        result(call_id, text),
        answer(judged),
    ]
