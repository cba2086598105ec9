"""Compaction of plain message lists, and the names that `ullage` itself exports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ullage
from support.build import assistant, results, user, uses, words
from ullage import ContextCompactor, SummaryTask, ToolResultCompactor, get_counter, read_messages
from ullage.edits.drop import NOTICE
from ullage.model.blocks import ToolResultBlock
from ullage.model.errors import CannotFit

EXAMPLES = Path(__file__).resolve().parents[3] / "server" / "examples"
COUNTER = get_counter("gpt-4o")


def test_messages_are_brought_to_a_number_of_tokens_by_a_summary() -> None:
    history = [user(f"u{i}", words(200)) if i % 2 == 0 else assistant(f"a{i}", words(200)) for i in range(20)]
    made = ContextCompactor("gpt-4o").compact(history, 1_500, pinned=["a5"])
    assert COUNTER.count_messages(made.messages) <= 1_500
    left = {message.id for message in made.messages}
    assert {"u0", "a5", "a19"} <= left
    assert [message.id for message in made.removed] == [message.id for message in history if message.id not in left]
    assert made.summary
    assert made.saved_tokens == COUNTER.count_messages(history) - COUNTER.count_messages(made.messages)


def test_a_compactor_asks_the_summarizer_it_was_given() -> None:
    def summarize(task: SummaryTask) -> str:
        return f"{len(task.request['messages'])} messages about {task.focus}."

    history = [user(f"u{i}", words(200)) if i % 2 == 0 else assistant(f"a{i}", words(200)) for i in range(20)]
    made = ContextCompactor("gpt-4o", summarize).compact(history, 1_500, focus="words")
    assert made.summary.endswith("messages about words.")


def test_what_fits_is_left_as_it_is_and_what_cannot_fit_is_said() -> None:
    history = [user("u", words(50)), assistant("a", words(50))]
    made = ContextCompactor("gpt-4o").compact(history, 1_000)
    assert (made.messages, made.removed, made.saved_tokens) == (tuple(history), (), 0)
    with pytest.raises(CannotFit):
        ContextCompactor("gpt-4o").compact(history, 2)


def test_old_tool_results_are_emptied_and_long_ones_shortened() -> None:
    history = [user("u", "Look.")]
    for number in range(6):
        history += [uses(f"c{number}", f"t{number}"), results(f"r{number}", f"t{number}", text=words(2_000))]
    made = ToolResultCompactor(keep=2, max_result_tokens=300).compact(history, COUNTER)
    assert [message.id for message in made.messages] == [message.id for message in history]
    assert made.removed == ()
    assert made.saved_tokens == COUNTER.count_messages(history) - COUNTER.count_messages(made.messages)
    sizes = [COUNTER.count_message(m) for m in made.messages if isinstance(m.content[0], ToolResultBlock)]
    assert max(sizes[:4]) < 50
    assert sizes[4] <= 320
    assert sizes[5] > 2_000, "what is to be answered stays whole"


def test_a_programs_messages_serve_the_strategies() -> None:
    given = [{"role": "user", "content": f"Message {number}."} for number in range(30)]
    history = read_messages("openai", given)
    left = ullage.SlidingWindowStrategy(max_messages=5).truncate(history, 1_000, COUNTER)
    texts = [message.text for message in left]
    assert texts == ["Message 0.", NOTICE, *(message["content"] for message in given[-5:])]
    sent = ullage.write_request("openai", left)["messages"]
    assert [part["text"] for part in sent[0]["content"]] == texts


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example: Path) -> None:
    command = [sys.executable, "-W", "error", str(example)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stderr == ""
    assert ran.stdout.count("\n") >= 2


def test_every_public_name_is_importable_and_known_to_type_checkers() -> None:
    tree = ast.parse(Path(ullage.__file__).read_text(encoding="utf-8"))
    declared = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    (homes,) = (node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict))
    offered = {key.value for key in homes.keys if isinstance(key, ast.Constant)}
    assert offered == {name for name in declared if name}
    for name in offered:
        assert isinstance(name, str)
        assert ullage.__getattr__(name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        ullage.__getattr__("Nothing")


def test_importing_ullage_loads_nothing_of_it() -> None:
    program = "import sys, ullage; print(*(name for name in sys.modules if name.startswith('ullage.')))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == ""
