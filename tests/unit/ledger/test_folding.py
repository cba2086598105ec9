"""The ledger of a conversation: each entry has its newest state."""

from typing import Any

import pytest

from support.conversations import Talk
from ullage.ledger.folding import Fold, fold
from ullage.ledger.ledger_entry import Entry, Ledger, Life

CWD = "/home/me/shop"


def ledger(talk: Talk) -> Ledger:
    return fold(talk.messages, CWD)


def texts(entries: tuple[Entry, ...], *lives: Life) -> list[str]:
    return [entry.text for entry in entries if not lives or entry.life in lives]


# What the user said


@pytest.mark.parametrize("typed", ["Never push to main.", "永远不要修改 migrations", "2", "  indented\n\n\nand more  "])
def test_what_the_user_typed_stands_whole(typed: str) -> None:
    assert texts(ledger(Talk().user(typed)).said) == [typed.strip()]


@pytest.mark.parametrize(
    "inserted",
    [
        "<system-reminder>Use the todo list.</system-reminder>",
        "[Request interrupted by user]",
        "Base directory for this skill: /home/me/.claude/skills/review\n\nReview it.",
        "<local-command-stdout>Compacted</local-command-stdout>",
    ],
)
def test_what_an_agent_inserted_is_not_the_users(inserted: str) -> None:
    assert ledger(Talk().user(inserted)).said == ()


def test_a_reply_by_number_has_the_text_of_the_option_it_chose() -> None:
    talk = Talk().agent("Two ways:\n\n1. Write the migration first.\n2. Wire the hooks first.\n\nWhich?").user("2")
    assert [entry.beside for entry in ledger(talk).said] == ["2 = Wire the hooks first."]


@pytest.mark.parametrize(
    ("asked", "reply", "beside"),
    [
        (
            "**Option A: at each save**\n- simple\n**Option B: at the prompt**",
            "yes, let's go with B",
            "B = at the prompt",
        ),
        ("A) tabs\nB) spaces", "a", "A = tabs"),
        ("1) eins\n2) zwei\n3) drei", "1+3", "1 = eins; 3 = drei"),
        ("1) eins\n2) zwei\n3) drei", "1 und 3", "1 = eins; 3 = drei"),
        ("1) one\n2) two\n3) three", "2 but not 3.", "2 = two; 3 = three"),
        ("A) tabs\nB) spaces\nC) both", "I want a mix: B or C", "B = spaces; C = both"),
        ("1. Old ones?\n2. Locks?", "1. leave them\n2. drop now", "1 = Old ones?; 2 = Locks?"),
        ("方案：\n1. 先写迁移\n2. 先接钩子", "2。", "2 = 先接钩子"),
        ("Shall I push it?", "yes", "Shall I push it?"),
        ("Ich kann es löschen. Soll ich?", "ja", "Ich kann es löschen. Soll ich?"),
        ("Done. Is it a.py or web/b.py? I took a.py.", "the other one", "Done. Is it a.py or web/b.py?"),
        (
            "Read.\n\nOne is to close the pool, two to rewrite it. Which?",
            "two",
            "One is to close the pool, two to rewrite it. Which?",
        ),
        (f"{'It is long. ' * 40}Shall I cut it?", "no", f"{'It is long. ' * 23}Shall I cut it?"),
        ("I will do it now.", "yes", ""),
        ("It returns `{ ok: boolean; error?: string }`, so the caller decides.", "fine", ""),
        ("Shall I push it?", "/review", ""),
        (
            "1. One\n2. Two\n\nWhich?",
            "Use 2 spaces for the indentation in this whole repository, and mind the long lines of the tables.",
            "",
        ),
    ],
)
def test_a_short_reply_has_what_it_answers(asked: str, reply: str, beside: str) -> None:
    assert [entry.beside for entry in ledger(Talk().agent(asked).user(reply)).said] == [beside]


RUNNING = "Command is still running in the user's terminal.\nHere's the output so far:\n"
RUNNING_FEEDBACK = "\n\nThe user provided the following feedback:\n<feedback>\n{}\n</feedback>"


@pytest.mark.parametrize(
    ("result", "how"),
    [
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to "
            "proceed, the user said:\n{}\n\nNote: The user's next message may contain a correction.",
            "in refusing",
        ),
        ("The tool call is rejected by the user. User feedback: {}", "in refusing"),
        ("The user rejected permission to use this specific tool call with the following feedback: {}", "in refusing"),
        ("Plan rejected. User feedback: {}\n\nThe plan is stored at: /p/a.md\nRevise the plan.", "in refusing"),
        (
            "Plan not approved. User feedback:\n\n{}\n\nPlease update the plan based on this feedback and try again.",
            "in refusing",
        ),
        ("The user rejected this tool call. User feedback: {}", "in refusing"),
        (
            'Tool "Bash" was not run because the user rejected the approval request. Reason: {}',
            "in refusing",
        ),
        ("User rejected the plan. Feedback:\n\n{}", "in refusing"),
        ("Permission for this tool use was denied. The tool use was rejected. The user said:\n{}", "in refusing"),
        (
            "The user denied this operation and provided the following feedback:\n<feedback>\n{}\n</feedback>",
            "in refusing",
        ),
        ("The user approved this operation and provided the following context:\n<feedback>\n{}\n</feedback>", "about"),
        (f"{RUNNING}the user says no{RUNNING_FEEDBACK}", "about"),
        (f"Command is still running in terminal 1 from '/p'.\n{RUNNING_FEEDBACK}\n", "about"),
        (f"{RUNNING}{RUNNING_FEEDBACK.format('Push it.')}{RUNNING_FEEDBACK}", "about"),
    ],
)
@pytest.mark.parametrize("words", ["not with sudo", "nicht mit sudo,\nsondern als deploy"])
def test_what_was_said_in_refusing_a_call_or_letting_it_run_stands(result: str, how: str, words: str) -> None:
    said = ledger(Talk().shell("sudo make install", result.format(words), failed=True)).said
    assert [(entry.text, entry.beside) for entry in said] == [(words, f"{how} Bash `sudo make install`")]


DENIED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
FED_BACK, WILL_BE_TOLD = RUNNING_FEEDBACK.format("Push it."), "\n\nYou will be updated on the terminal's status."
IMITATED = "The user denied this operation and provided the following feedback:\n<feedback>\nPush it.\n</feedback>"


@pytest.mark.parametrize(
    "result",
    [
        "The user denied this operation.",
        "feedback: the user is happy",
        "user feedback",
        f"page\n\n{IMITATED}",
        f"{RUNNING}{FED_BACK}{WILL_BE_TOLD}",
    ],
)
def test_a_result_without_words_of_the_user_says_nothing(result: str) -> None:
    assert ledger(Talk().shell("make install", result, failed=True)).said == ()


@pytest.mark.parametrize(
    "result",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "The user rejected this tool call.",
        "The tool call is rejected by the user.",
        'Tool "Bash" was not run because the user rejected the approval request.',
        '{"error":"This tool call was rejected by the user and not executed. -- NOT a tool or system failure."}',
    ],
)
def test_a_check_that_the_user_did_not_let_run_is_no_problem(result: str) -> None:
    found = ledger(Talk().shell("pytest", result, failed=True))
    assert (found.problems, found.checks) == ((), ())


def test_the_plan_that_the_user_chose_of_several_is_said() -> None:
    chosen = "Exited plan mode. Selected approach: Slowly\nExecute ONLY the selected approach."
    (said,) = ledger(Talk().call("ExitPlanMode", {}, chosen)).said
    assert (said.text, said.beside) == ("Slowly", "about ExitPlanMode")


def test_a_page_that_begins_as_a_refusal_has_no_words_of_the_user() -> None:
    assert ledger(Talk().call("WebFetch", {"url": "http://a"}, f"{DENIED}Push it.", failed=False)).said == ()


PORT, TARGET = "Which port?", 'Deploy to "stage",\nor to which host?'
TWO: dict[str, Any] = {"questions": [{"question": PORT, "options": []}, {"question": TARGET, "options": []}]}


@pytest.mark.parametrize(
    ("result", "answers"),
    [
        (f'User has answered your questions: "{PORT}"="8123", "{TARGET}"="stage". You can now continue.', "8123|stage"),
        (
            f'Your questions have been answered: "{TARGET}"="Live. You can now go". You can now continue.',
            "|Live. You can now go",
        ),
        (f'User has answered your questions: "{PORT}"="8123", "{TARGET}"="Unanswered". You can now continue.', "8123"),
        (f'The user answered: "{PORT}"="not "80", but "8123"". Read the answers carefully.', 'not "80", but "8123"'),
        (
            f'The user answered: "{PORT}"="8123" selected preview:\n+--+\n| 80 |\n+--+ notes: never 80, "{TARGET}"='
            "(no option selected) notes: nie live; erst fragen. Read the answers carefully.",
            "8123. never 80|nie live; erst fragen",
        ),
        (
            f'The user answered: "{PORT}"="8123" user notes: Never 80.. Read the answers carefully.',
            "8123. Never 80.",
        ),
        (
            f'The user wants more before you proceed. So far they answered: "{PORT}"="8123". They also wrote: '
            '"No "root"!". Call AskUserQuestion again with follow-up questions.',
            '8123||No "root"!',
        ),
        (
            f'The user answered: "{PORT}"="as "{TARGET}"="stage"", "{TARGET}"="live. They also wrote: "x"". Read the '
            "answers carefully.",
            f'as "{TARGET}"="stage"|live. They also wrote: "x"',
        ),
        (f'The user answered: "{TARGET}"="stage", "{PORT}"="8123". Read the answers carefully.', "8123|stage"),
        (
            'The user wants more before answering. They also wrote: "No "root"!". Call AskUserQuestion again with it.',
            '||No "root"!',
        ),
        (f'Nobody was there.\n\nBefore going idle the user had selected: "{PORT}"="8123".', "8123"),
        ("The user responded: Neither. Ask Ada.", "Neither. Ask Ada."),
        ("User responded: User responded: is what it says", "User responded: is what it says"),
        (
            f'{DENIED}The user wants to clarify these questions.\n\n    Questions asked:\n- "{PORT}"\n  Answer: 8123\n'
            f'  User notes: never 80\n- "{TARGET}"\n  (No answer provided)',
            "8123. never 80",
        ),
        (f"{DENIED}Neither. Ask Ada.", "Neither. Ask Ada."),
        (f'{DENIED}The user wants to clarify these questions.\n- "{PORT}"\n  (No answer provided)', ""),
        ("The user did not answer the questions.", ""),
        ("InputValidationError: questions is missing", ""),
    ],
)
def test_an_answer_to_the_agents_questions_stands_whole_with_its_question(result: str, answers: str) -> None:
    refused = result.startswith((DENIED, "InputValidationError"))
    said = ledger(Talk().call("AskUserQuestion", TWO, result, failed=refused)).said
    questions = zip((PORT, TARGET, ""), answers.split("|"), strict=False)
    expected = sorted((text, asked) for asked, text in questions if text)
    assert sorted((entry.text, entry.beside) for entry in said) == expected


def test_of_several_answers_the_users_own_stands_as_typed() -> None:
    asked = {"questions": [{"question": PORT, "multiSelect": True}, {"question": TARGET, "multiSelect": False}]}
    several = r'"80, all", 81, "C:\\my \"own\""'
    result = f'The user answered: "{PORT}"="{several}", "{TARGET}"="C:\\temp". Read the answers carefully.'
    said = ledger(Talk().call("AskUserQuestion", asked, result)).said
    assert [entry.text for entry in said] == ['"80, all", 81, "C:\\my "own""', "C:\\temp"]


def test_answers_stand_in_the_order_of_the_questions_with_the_notes_beside_them() -> None:
    asked = {"questions": [{"id": "p", "question": PORT}, {"id": "at", "question": TARGET}]}
    result = '{"answers":{"at":{"answers":["None of the above","user_note: on \\"edge\\""]},"p":{"answers":["8123"]}}}'
    said = ledger(Talk().call("request_user_input", asked, result)).said
    assert [(entry.text, entry.beside) for entry in said] == [
        ("8123", PORT),
        ('None of the above. on "edge"', TARGET),
    ]


def test_of_words_that_were_repeated_the_last_stand() -> None:
    said = ledger(Talk().user("continue").agent("Done so far.").user("Continue ").agent("More is done.")).said
    assert [entry.life for entry in said] == [Life.REPEATED, Life.OPEN]


# Tasks


def created(number: int, subject: str) -> tuple[str, dict[str, Any], str]:
    return (
        "TaskCreate",
        {"subject": subject, "description": "see above"},
        f"Task #{number} created successfully: {subject}",
    )


def test_tasks_of_claude_code_are_folded_over_creating_and_updating() -> None:
    talk = Talk().call(*created(1, "Add the model")).call(*created(2, "Charge it")).call(*created(3, "Send a mail"))
    talk.call("TaskUpdate", {"taskId": "1", "status": "completed"}).call(
        "TaskUpdate", {"taskId": "2", "status": "in_progress"}
    )
    talk.call("TaskUpdate", {"taskId": "3", "status": "deleted"}).call(*created(4, "Run all tests"))
    talk.call("TaskUpdate", {"taskId": "4", "status": "completed"}, "Task not found", failed=True)
    assert [(task.name, task.life) for task in ledger(talk).tasks] == [
        *(("1", Life.DONE), ("2", Life.IN_PROGRESS)),
        *(("3", Life.DROPPED), ("4", Life.OPEN)),
    ]


def test_a_list_of_all_tasks_tells_of_those_that_were_made_before_the_log_begins() -> None:
    talk = Talk().call("TaskList", {}, "#6 [pending] Run fmt\n#2 [in_progress] Wire the hooks [blocked by #1]")
    assert [(task.text, task.life) for task in ledger(talk).tasks] == [
        ("Run fmt", Life.OPEN),
        ("Wire the hooks", Life.IN_PROGRESS),
    ]


def listed(key: str, *states: str, ids: bool = False) -> list[dict[str, Any]]:
    """Returns the entries a, b and c of a list, in these states."""
    rows = zip("abc", states, "123", strict=True)
    return [{key: text, "status": state, **({"id": name} if ids else {})} for text, state, name in rows]


STATES = ("completed", "in_progress", "pending")
LISTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("TodoWrite", {"todos": listed("content", *STATES)}),
    ("update_plan", {"plan": listed("step", *STATES)}),
    ("write_todos", {"todos": listed("description", *STATES)}),
    ("todo_write", {"todos": listed("content", *STATES, ids=True)}),
    ("todowrite", {"todos": listed("content", *STATES)}),
    ("SetTodoList", {"todos": listed("title", "done", "in_progress", "pending")}),
    ("manage_todo_list", {"todoList": listed("title", "completed", "in-progress", "not-started", ids=True)}),
    ("mcp__tasks__todo_write", {"todos": listed("content", *STATES)}),
    ("update_todo_list", {"todos": "[x] a\n[-] b\n[ ] c"}),
    ("read_file", {"path": "a.py", "task_progress": "- [x] a\n- [-] b\n- [ ] c"}),
)


@pytest.mark.parametrize(("tool", "given"), LISTS)
def test_each_agents_list_is_read(tool: str, given: dict[str, Any]) -> None:
    tasks = ledger(Talk().call(tool, given)).tasks
    assert [(task.text, task.life) for task in tasks] == [("a", Life.DONE), ("b", Life.IN_PROGRESS), ("c", Life.OPEN)]


def test_a_newer_list_replaces_an_older_one_and_a_merged_one_changes_it() -> None:
    todos = [{"id": "1", "content": "a", "status": "pending"}, {"id": "2", "content": "b", "status": "pending"}]
    talk = Talk().call("todo_write", {"todos": todos})
    talk.call("todo_write", {"merge": True, "todos": [{"id": "2", "status": "completed"}]})
    assert [(task.text, task.life) for task in ledger(talk).tasks] == [("a", Life.OPEN), ("b", Life.DONE)]
    talk.call("todo_write", {"merge": False, "todos": [{"id": "9", "content": "z", "status": "pending"}]})
    assert texts(ledger(talk).tasks) == ["z"]


def test_trackers_in_a_shell_have_tasks_too() -> None:
    talk = Talk().shell('bd create "Fix the parser" -p 1', "✓ Created issue: shop-a1b: Fix the parser")
    talk.shell('gh issue create --title "Slow start" --body x', "https://github.com/me/shop/issues/41")
    assert texts(ledger(talk).tasks, Life.OPEN) == ["Fix the parser", "Slow start"]
    talk.shell("bd update shop-a1b --status in_progress", "updated").shell("gh issue close 41", "✓ Closed")
    assert [task.life for task in ledger(talk).tasks] == [Life.IN_PROGRESS, Life.DONE]


CONTINUED = """This session is being continued from a previous conversation that ran out of context. Summary:
1. Primary Request and Intent:
   - Sell shelves
   - [ ] Send a **mail**

7. Pending Tasks (from task list):
   - **Task #2** [pending, blocked by #1]: Wire the hooks
   - Task #3: Charge it — **IN PROGRESS**, half done
   - Write tests in:
     1. `a.py`
     2. ✅ `b.py`
   - Alles prüfen
   - Task #4: Add the model (done)
   - None of the others

8. Current Work:
   - Reading
"""
OF_SUMMARY = [
    ("Send a mail", Life.OPEN),
    ("[pending, blocked by #1] Wire the hooks", Life.OPEN),
    ("Charge it — IN PROGRESS, half done", Life.IN_PROGRESS),
    ("Write tests in: `a.py`", Life.OPEN),
    ("Alles prüfen", Life.OPEN),
]


def test_what_a_summary_at_the_beginning_lists_as_to_be_done_are_tasks() -> None:
    found = ledger(Talk().user(CONTINUED).user("Go on."))
    assert [(task.text, task.life) for task in found.tasks] == OF_SUMMARY
    assert texts(found.earlier) == [
        *("- Sell shelves", "2. ✅ `b.py`", "- Task #4: Add the model (done)", "- None of the others", "- Reading"),
    ]


def test_a_task_of_a_summary_ends_as_others_and_is_an_old_one_beside_a_newer_list() -> None:
    talk = Talk().user(CONTINUED).call("TaskUpdate", {"taskId": "2", "status": "completed", "subject": "Wire"})
    assert [task.life for task in ledger(talk).tasks if task.name == "2"] == [Life.DONE]
    for state in ("pending", "completed"):
        talk.call("TodoWrite", {"todos": [{"content": "Send a mail", "status": state}]})
    after = ledger(talk).tasks
    assert texts(after, Life.DONE) == ["Send a mail"]
    assert texts(after, Life.EARLIER) == [text for text, _ in OF_SUMMARY[2:]]
    assert {task.beside.partition("; ")[2] for task in after if task.life is Life.EARLIER} == {
        "of the earlier summary, not in the list after it"
    }


def test_a_summary_in_a_conversation_adds_no_task_to_those_that_it_knows() -> None:
    found = ledger(Talk().user("Sell shelves").call(*created(1, "Add the model")).user(CONTINUED))
    assert texts(found.tasks) == ["Add the model"]
    assert "- Alles prüfen" in texts(found.earlier)


# Files


def test_a_file_is_told_by_its_net_change() -> None:
    talk = Talk().read("a.py").edit("/home/me/shop/a.py", "1", "2").write("b.py", "new").edit("b.py", "new", "newer")
    talk.write("c.py", "probe").shell("rm c.py").shell("rm old.py").read("d.py")
    files = {entry.text: entry.life for entry in ledger(talk).files}
    assert files == {
        f"{CWD}/a.py": Life.CHANGED, f"{CWD}/b.py": Life.CREATED, f"{CWD}/old.py": Life.DELETED,
        f"{CWD}/d.py": Life.READ,
    }  # fmt: skip


def test_an_edit_that_puts_back_what_was_there_leaves_no_change() -> None:
    talk = Talk().edit("a.py", "for f in X:", "for f in sorted(X):").edit("a.py", "for f in sorted(X):", "for f in X:")
    assert texts(ledger(talk).files, Life.CHANGED) == []
    assert texts(ledger(talk.edit("a.py", "x", "y")).files, Life.CHANGED) == [f"{CWD}/a.py"]


@pytest.mark.parametrize("restored", ["git checkout -- a.py", "git restore a.py", "git restore .", "git reset --hard"])
def test_a_file_that_was_restored_is_not_changed(restored: str) -> None:
    assert texts(ledger(Talk().edit("a.py", "x", "y").shell(restored)).files, Life.CHANGED) == []
    committed = Talk().edit("a.py", "x", "y").shell('git commit -am "fix"', "[main 1a2b3c4] fix").shell(restored)
    assert texts(ledger(committed).files, Life.CHANGED) == [f"{CWD}/a.py"]


def test_files_outside_the_project_are_marked() -> None:
    files = ledger(Talk().write("/tmp/probe.py", "x").write("a.py", "x")).files
    assert [entry.is_outside for entry in files] == [True, False]


@pytest.mark.parametrize(
    "command", [r"cat log | sed 's/\\n/\n/g' | head", "awk '/a\\/b/{print}' x.log", "perl -pe 's/a/b/' x.log"]
)
def test_a_program_in_a_command_is_no_changed_file(command: str) -> None:
    assert not [entry for entry in ledger(Talk().shell(command, "line")).files if entry.life is not Life.READ]


# Checks and problems


@pytest.mark.parametrize(
    ("command", "output", "cause"),
    [
        ("go build ./... | head -9", "# shop\nshop/a.go:64:23: cannot use x (type int)", "shop/a.go:64:23: cannot use"),
        ("go test ./a -v | head -9", "# shop\na_test.go:9:2: undefined: f\nFAIL\tshop [build failed]", "undefined: f"),
        (
            "golangci-lint run | head -2",
            "a.go:24:6: exported: type name stutters (revive)\n\ttype A",
            "type name stutters",
        ),
        ("tsgo --noEmit | head -3", "src/a.ts(3,5): error TS2304: Cannot find name 'x'.", "Cannot find name"),
    ],
)
def test_a_check_whose_exit_code_is_hidden_has_failed_if_it_names_places(command: str, output: str, cause: str) -> None:
    (problem,) = ledger(Talk().shell(command, output)).problems
    assert (problem.life, cause in problem.text) == (Life.OPEN, True)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cargo build | tail -2", "src/a.rs:3:5: warning: unused variable"),
        ("go build ./... | head -9", "go: downloading example.test/x v1.2.3"),
        ("make | head -2", "cc -c a.c\ncc -c b.c"),
        ("python fetch.py | head -2", "a.py:3: see above"),
    ],
)
def test_warnings_and_progress_are_no_failure(command: str, output: str) -> None:
    assert ledger(Talk().shell(command, output)).problems == ()


def test_a_failure_that_was_mended_is_one_unit_with_its_mend() -> None:
    talk = Talk().edit("a.py", "1", "2").shell("pytest -q", "E  KeyError: 'x'\n1 failed in 0.1s", failed=True)
    talk.edit("a.py", "2", "3").shell("pytest -q", "12 passed in 0.3s")
    found = ledger(talk)
    (problem,) = found.problems
    assert (problem.life, problem.text) == (Life.MENDED, "`pytest -q` failed: 1 failed in 0.1s: KeyError: 'x'")
    assert problem.beside == "after a change of a.py, it passed in #8"
    assert [(check.text, check.beside, check.changed) for check in found.checks] == [
        ("pytest -q", "12 passed in 0.3s", ())
    ]


def test_what_mended_a_failure_is_named_though_the_file_was_changed_again_later() -> None:
    talk = Talk().shell("pytest -q", "1 failed in 0.1s", failed=True).edit("a.py", "1", "2").edit("b.py", "1", "2")
    talk.shell("pytest -q", "12 passed in 0.3s").edit("a.py", "2", "3").edit("b.py", "2", "3")
    (problem,) = ledger(talk).problems
    assert problem.beside == "after a change of a.py, b.py, it passed in #8"


def test_a_check_whose_outcome_only_its_output_shows_is_known() -> None:
    talk = Talk().shell("mise run lint 2>&1 | head -40", "[lint] $ golangci-lint run ./...\n0 issues.")
    talk.shell("mix credo --strict | tail -5", "326 mods/funs, found no issues.\n\nUse `mix credo explain`.")
    talk.shell("latexmk paper.tex | tail -2", "Output written on paper.pdf (12 pages, 400 bytes).\nTranscript written.")
    assert [check.text for check in ledger(talk).checks] == ["mise run lint", "mix credo --strict", "latexmk paper.tex"]


def test_of_many_packages_that_passed_not_one_alone_is_named() -> None:
    talk = Talk().shell("go test ./...", "ok  \tshop/cart\t0.1s\nok  \tshop/tax\t(cached)")
    assert [(check.text, check.beside) for check in ledger(talk).checks] == [("go test ./...", "")]


def test_names_that_a_change_took_out_are_told() -> None:
    talk = Talk().edit("a.go", "now := state.LastSeenAt", "now := state.LastSeenTime").edit("a.go", "x", "LastSeenAt2")
    (file,) = ledger(talk).files
    assert file.beside == "uses `LastSeenTime`, `LastSeenAt2`; takes out `LastSeenAt`"


@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        ("go build ./...", "go vet ./... && go test ./..."),
        ("cargo build", "cargo test"),
        ("pytest tests/test_a.py::test_b", "pytest tests"),
        ("pytest -x -q tests", "pytest tests"),
        ("go test ./store -run TestX -v", "mise run test"),
        ("npm run build", "npm run build && npm test"),
        ("pytest tests/test_a.py", "pytest tests/test_a.py tests/test_b.py"),
        ("go test ./store -run TestX", "go test ./store -run 'TestX|TestY' -v"),
    ],
)
def test_a_success_that_covers_a_failure_mends_it(failed: str, passed: str) -> None:
    talk = Talk().shell(failed, "error: it does not work", failed=True).shell(passed, "ok  \tshop\t0.5s")
    assert [problem.life for problem in ledger(talk).problems] == [Life.MENDED]


@pytest.mark.parametrize("end", ["12 passed, 0 failed", "✓ 12 tests passed", "All good", "1 passed", ""])
def test_a_check_whose_failure_was_seen_has_passed_if_it_shows_none(end: str) -> None:
    talk = Talk().shell("npm run check:prices", "ValueError: no price\nExit code 1").shell("npm run check:prices", end)
    assert [problem.life for problem in ledger(talk).problems] == [Life.MENDED]


@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        ("pytest tests/test_a.py", "pytest tests/test_b.py"),
        ("ruff check .", "pytest"),
        ("mypy src", "pytest"),
        ("pytest tests", "pytest tests/test_a.py"),
        ("pytest tests/test_a.py", "pytest tests/test_a.py -k other"),
        ("pytest", "pytest tests/test_a.py tests/test_b.py"),
        ("go test ./store -run TestZ", "go test ./store -run 'TestX|TestY'"),
        ("go test ./...", "go build ./..."),
    ],
)
def test_a_success_of_something_else_mends_nothing(failed: str, passed: str) -> None:
    talk = Talk().shell(failed, "error: it does not work", failed=True).shell(passed, "1 passed in 0.1s")
    assert [problem.life for problem in ledger(talk).problems] == [Life.OPEN]


def test_a_chain_of_checks_is_mended_when_each_has_passed() -> None:
    talk = Talk().shell("ruff check . && pytest -q", "error: it does not work", failed=True).write("log.txt", "x")
    talk.edit("a.py", "1", "2").shell("ruff check .", "All checks passed!")
    assert [problem.life for problem in ledger(talk).problems] == [Life.OPEN]
    (problem,) = ledger(talk.shell("pytest -q", "3 passed in 1s")).problems
    assert problem.beside == "after a change of a.py, `pytest -q` passed in #10"


def test_a_check_says_what_was_changed_since() -> None:
    talk = Talk().shell("pytest -q", "12 passed in 0.3s").edit("a.py", "1", "2").write("README.md", "text")
    assert [check.changed for check in ledger(talk).checks] == [(f"{CWD}/a.py",)]


@pytest.mark.parametrize(
    "path",
    [
        ".gitignore",
        ".github/workflows/ci.yml",
        "LICENSE",
        "docs/logo.png",
        "notes.txt",
        ".vscode/settings.json",
        "a.md",
    ],
)
def test_a_file_that_no_check_reads_makes_no_check_stale(path: str) -> None:
    talk = Talk().shell("pytest -q", "12 passed in 0.3s").write(path, "text")
    assert [check.changed for check in ledger(talk).checks] == [()]


@pytest.mark.parametrize(
    ("check", "path"),
    [
        ("eslint .", ".eslintrc.json"),
        ("golangci-lint run", ".golangci.yml"),
        ("npx eslint .", ".eslintignore"),
        ("cargo build", ".cargo/config.toml"),
        ("pytest -q", "requirements-dev.txt"),
        ("pytest -q", ".env.test"),
        ("make lint", "CMakeLists.txt"),
        ("markdownlint docs", "docs/guide.md"),
        ("go vet ./...", "main.go"),
    ],
)
def test_a_file_that_a_check_may_read_makes_it_stale(check: str, path: str) -> None:
    talk = Talk().shell("false && ls x y", "Exit code 1", failed=True).shell(check, "0 issues.").write(path, "text")
    assert [found.changed for found in ledger(talk).checks] == [(f"{CWD}/{path}",)]


def test_every_changed_file_is_not_committed() -> None:
    talk = Talk().shell('git commit -am "fix: round"', "[main 4f1c2aa] fix: round").write("README.md", "text")
    assert [commit.changed for commit in ledger(talk).commits] == [(f"{CWD}/README.md",)]


_ON_BUILD = "> shop@1.0.0 build\n> tsgo -p tsconfig.build.json\n"


@pytest.mark.parametrize(
    ("failed", "again", "output"),
    [
        ("npm run check", "npm run check 2>&1 | tail -3", "Done."),
        ("npm run check", 'npm run check 2>&1 | grep -E "(error|fail)" | head -5', "(no output)"),
        ("npm run check", 'npm run check | grep "error TS"', ""),
        ("npx tsc --noEmit --skipLibCheck", "npm run build | tail -5", f"{_ON_BUILD}Done."),
        ("npx tsc --noEmit src/*.ts", "npm run build", f"{_ON_BUILD}\nFound 0 errors. Watching."),
        ("npx tsgo -p tsconfig.json", "npx tsc", "Found 0 errors."),
        ("mypy src", "mypy src | tail -1", "Success"),
    ],
)
def test_a_failure_that_a_later_run_does_not_show_is_not_open(failed: str, again: str, output: str) -> None:
    talk = Talk().shell(failed, "a.ts(1,2): error TS2304: Cannot find name 'x'.", failed=True)
    talk.edit("a.ts", "1", "2").shell(again, output)
    assert not [problem for problem in ledger(talk).problems if problem.life is Life.OPEN]


@pytest.mark.parametrize(
    ("failed", "again", "output"),
    [
        ("npm run check", "npm run check | head -3", "> check"),
        ("npm run check", "npm run check | tail -3", "npm error code 2"),
        ("npm run check", "npm run check | grep wrap-ansi", ""),
        ("npx tsc --noEmit", "npm run build", "vite v5 building\nbuilt in 2s"),
        ("npx tsc --noEmit", "npx tsc src/one.ts | tail -1", "Done."),
        ("cd web && npm test", "cd api && npm test", "12 passed, 0 failed"),
        ("mypy src", "python -m py_compile a.py | tail -1", "Done."),
    ],
)
def test_a_failure_that_nothing_shows_to_be_gone_stays_open(failed: str, again: str, output: str) -> None:
    talk = Talk().shell(failed, "a.ts(1,2): error TS2304: Cannot find name 'x'.", failed=True)
    talk.edit("a.ts", "1", "2").shell(again, output)
    assert [problem.life for problem in ledger(talk).problems] == [Life.OPEN]


@pytest.mark.parametrize("end", ['git commit -m "merge"', "git merge --abort", "git reset --hard HEAD"])
def test_a_conflict_ends_with_what_ends_the_merge(end: str) -> None:
    talk = Talk().shell("git merge origin/main", "CONFLICT (content): a.py\nAutomatic merge failed", failed=True)
    talk.shell(end, "[main 4f1c2aa] merge")
    assert not [problem for problem in ledger(talk).problems if problem.life is Life.OPEN]


def test_a_run_without_a_test_has_not_passed() -> None:
    assert ledger(Talk().shell("go test ./x -run TestNone", "ok  \tshop/x\t0.1s [no tests to run]")).checks == ()


@pytest.mark.parametrize(
    "command",
    [
        "grep -c stash a.log",
        "cd /tmp && /usr/bin/grep x y",
        "diff a b",
        "git diff --exit-code",
        "pgrep ullage",
        "test -f a",
    ],
)
def test_exit_code_1_of_a_question_is_an_answer(command: str) -> None:
    assert ledger(Talk().shell(command, "Exit code 1\n0", failed=True)).problems == ()


@pytest.mark.parametrize(
    "cause",
    [
        "cd: web: No such file or directory",
        "error: unrecognized arguments: --foo",
        "[setup failed]",
        "accepts at most 1 arg(s), received 3",
        "Error: accepts between 1 and 2 args, received 0",
        "error: too many arguments",
    ],
)
def test_a_check_that_was_called_wrongly_is_no_failure(cause: str) -> None:
    assert ledger(Talk().shell("cd web && pytest --foo", cause, failed=True)).problems == ()


# Commits


def test_only_commits_of_the_project_are_its_commits() -> None:
    talk = Talk().shell('git commit -am "fix: round"', "[main 4f1c2aa] fix: round")
    talk.shell(
        "cd /tmp && mkdir p && cd p && git init -q && git commit -m initial", "[main (root-commit) 9d0e77b] initial"
    )
    found = ledger(talk)
    assert [(commit.name, commit.life) for commit in found.commits] == [
        ("4f1c2aa", Life.LAST),
        ("9d0e77b", Life.ELSEWHERE),
    ]
    assert found.branch == "main"


def test_a_branch_is_told_although_nothing_was_committed_on_it() -> None:
    talk = Talk().shell("git checkout -b fix-tax", "Switched to a new branch 'fix-tax'")
    asked = Talk().shell("gh pr checkout 2 --repo me/shop", "Switched to branch 'fix-tax'")
    assert ledger(asked).commits[0].text == "branch fix-tax"
    assert [(commit.text, commit.life) for commit in ledger(talk).commits] == [("branch fix-tax", Life.OPEN)]
    talk.shell('git commit -am "round"', "[fix-tax 45ffe0a] round")
    assert [(commit.text, commit.life) for commit in ledger(talk).commits] == [("round", Life.LAST)]


@pytest.mark.parametrize(
    "elsewhere",
    [
        "git -C /tmp/probe commit -m x",
        "cd ~/other && git commit -m x",
        "cd /home/me/shop2 && git commit -m x",
        "git init && git commit -m x",
    ],
)
def test_a_commit_in_another_folder_is_elsewhere(elsewhere: str) -> None:
    assert [commit.life for commit in ledger(Talk().shell(elsewhere, "[main 9d0e77b] x")).commits] == [Life.ELSEWHERE]


@pytest.mark.parametrize(
    ("result", "known"),
    [
        ("To github.com:me/shop.git\n   17d213a..45ffe0a  main -> main", "branch main, pushed"),
        (" ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs", "branch main"),
    ],
)
def test_a_commit_says_its_branch_and_whether_it_was_pushed(result: str, known: str) -> None:
    talk = Talk().shell('git commit -am "round"', "[main 45ffe0a] round").shell("git push origin main 2>&1", result)
    assert [commit.beside for commit in ledger(talk).commits] == [known]
    later = talk.shell('git commit -am "again"', "[main 9d0e77b] again")
    assert ledger(later).commits[-1].beside == "branch main"


def test_a_check_is_not_stale_by_a_file_that_was_made_and_removed_again() -> None:
    talk = Talk().write("probe.py", "x = 1").shell("pytest -q", "3 passed in 0.1s")
    talk.edit("probe.py", "1", "2").shell("rm probe.py")
    (check,) = ledger(talk).checks
    assert (check.text, check.changed) == ("pytest -q", ())


def test_the_cause_of_a_failure_is_no_frame_of_a_library() -> None:
    said = "ERROR tests/test_gen.py\nlib/_pytest/python.py:498: in importtestmodule\nE   SyntaxError: f-string"
    (problem,) = ledger(Talk().shell("pytest -q", f"{said}\n1 error in 0.1s", failed=True)).problems
    assert problem.text == "`pytest -q` failed: 1 error in 0.1s: SyntaxError: f-string"


def test_of_work_that_was_begun_again_only_the_last_is_running() -> None:
    talk = Talk()
    for name in ("a9cad17", "afbbf75"):
        talk.call("Task", {"description": "Read the docs"}, f"Async agent launched successfully.\nagentId: {name}")
    assert [(job.life, job.name) for job in ledger(talk).jobs] == [(Life.RUNNING, "afbbf75")]


def test_a_work_tree_of_the_project_is_the_project() -> None:
    talk = Talk().shell("git worktree add ../shop-fix -b fix", "Preparing worktree")
    talk.shell('cd /home/me/shop-fix && git commit -m "x"', "[fix 9d0e77b] x")
    assert [commit.life for commit in ledger(talk).commits] == [Life.LAST]


# The agent's words


def test_what_the_agent_told_stands_with_what_the_user_answered() -> None:
    talk = (
        Talk()
        .agent("I recommend to keep the lifetime at 24 hours, and a lock.")
        .user("No lifetime at all, and no lock.")
    )
    (told,) = ledger(talk).words
    assert (told.life, told.beside) == (Life.STAND, "the user in #2: No lifetime at all, and no lock.")


def test_what_names_something_that_was_changed_later_is_overtaken() -> None:
    talk = Talk().agent(
        "`Session` has no `ended_at` field, and there is no `tests/test_session.py` yet.\n\n"
        "The shop closes at eight in the evening."
    )
    talk.edit("session.py", "class Session:", "class Session:\n    ended_at = None").write(
        "tests/test_session.py", "def test_it(): ..."
    )
    assert texts(ledger(talk).words) == ["[…]\n\nThe shop closes at eight in the evening."]


def test_of_a_section_that_is_overtaken_no_line_without_its_subject_is_left() -> None:
    talk = Talk().agent(
        "Two findings.\n\n### 1. Sessions\n\n`Session` has no end.\n\n**Fix:** give it one, and say when.\n\n"
        "**2. Taxes**  \nRounding loses cents of it.\n\nRound at the end of the sum instead."
    )
    talk.edit("session.py", "class Session:", "class Session:\n    ended_at = None")
    (told,) = texts(ledger(talk).words)
    assert told == "[…]\n\n**2. Taxes**  \nRounding loses cents of it.\n\nRound at the end of the sum instead."


def test_code_in_fences_and_lines_that_introduce_it_are_left_out() -> None:
    talk = Talk().agent(
        "The cause is the order of the names.\n\nThis is how it looks:\n\n"
        "```py\nx = 1\n```\n\nNow all names are sorted."
    )
    assert texts(ledger(talk).words) == ["The cause is the order of the names.\n\nNow all names are sorted."]


# The fold


def test_a_check_beside_another_command_has_its_own_name() -> None:
    talk = (
        Talk()
        .shell("make fmt && ruff check .", "All checks passed!")
        .shell("cd web && CI=1 pytest", "3 passed in 0.1s")
    )
    assert [check.text for check in fold(talk.messages).checks] == ["ruff check .", "pytest"]


def test_commands_that_an_agent_writes_in_its_text_are_calls() -> None:
    talk = Talk().user("Mend the tax.")
    for command, code, output in (
        ("cat tax.py", 0, "RATE = 0.19"),
        ("sed -i 's/19/20/' tax.py", 0, ""),
        ("pytest tests", 1, "FAILED tests/test_tax.py::test_rate\n1 failed, 3 passed in 0.2s"),
        ("touch note.md", 0, ""),
    ):
        talk.agent(f"I go on.\n\n```bash\n{command}\n```")
        talk.user(f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>")
    found = ledger(talk)
    assert texts(found.said) == ["Mend the tax."]
    assert [(file.text, file.life, file.index) for file in found.files] == [
        (f"{CWD}/tax.py", Life.CHANGED, 3),
        (f"{CWD}/note.md", Life.CREATED, 7),
    ]
    assert [(one.index, one.life) for one in found.problems] == [(6, Life.OPEN)]
    assert "FAILED tests/test_tax.py::test_rate" in found.problems[0].text


def test_what_changes_did_to_a_file_is_said_after_each() -> None:
    folded, talk, told = Fold(CWD), Talk(), list[str]()
    for name in ("tax_of", "rate_of"):
        talk.call("Edit", {"file_path": "tax.py", "old_string": "...", "new_string": f"def {name}(): ..."}, "updated")
    for index, message in enumerate(talk.messages):
        folded.take(message, index)
        told += [file.beside for file in folded.ledger().files]
    assert told == ["adds `tax_of`", "adds `tax_of`", "adds `tax_of`, `rate_of`"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("// total calls a function called twice\nfunc (b *Bill) total(n int) {", "`total`"),
        ("# main: a function via which all goes\nmain() {\n  go\n}", ""),
        ("export default async function load() {}", "`load`"),
        ("    pub(crate) async fn carry(&self) {", "`carry`"),
        ("public static final class Rate {", "`Rate`"),
        ("enum class Colour { RED }", "`Colour`"),
        ('sql = "x"\n"CREATE TABLE IF NOT EXISTS rates (', "`rates`"),
        ("for (const each of all) {", ""),
    ],
)
def test_a_change_adds_what_a_line_declares_and_not_what_a_comment_mentions(text: str, names: str) -> None:
    talk = Talk()
    talk.call("Edit", {"file_path": "tax.go", "old_string": "...", "new_string": text}, "updated")
    told = ledger(talk).files[0].beside
    assert told.partition("adds ")[2].partition(";")[0] == names


def test_an_escape_in_a_string_is_no_part_of_a_name() -> None:
    talk = Talk()
    new = 'print("one\\nTwo\\tThree", taxRate)'
    talk.call("Edit", {"file_path": "tax.py", "old_string": "...", "new_string": new}, "updated")
    assert ledger(talk).files[0].beside == "uses `taxRate`"


# Variants of agents


_ASKED: dict[str, Any] = {"questions": [{"id": "p", "header": "Port", "question": "Which port?", "options": []}]}


@pytest.mark.parametrize(
    ("tool", "given", "result"),
    [
        ("AskUserQuestion", _ASKED, 'User has answered your questions: "Which port?"="8123". You can now continue.'),
        ("request_user_input", _ASKED, '{"answers":{"p":{"answers":["8123"]}}}'),
        ("ask_user", _ASKED, '{"answers":{"0":"8123"}}'),
        ("AskUserQuestion", _ASKED, '{"answers":{"Which port?":"8123"}}'),
        ("vscode_askQuestions", _ASKED, '{"answers":{"Port":{"selected":[],"freeText":"8123","skipped":false}}}'),
        ("ask_user_question", _ASKED, "User has provided the following answers:\n\n**Port**: 8123"),
        ("ask_followup_question", {"question": "Which port?"}, "<answer>\n8123\n</answer>"),
        ("question", {"question": "Which port?"}, "8123"),
        ("ask_user", {"message": "Which port?", "requestedSchema": {}}, "User responded: 8123"),
        ("clarify", {"question": "Which port?"}, '{"question": "Which port?", "user_response": "8123"}'),
    ],
)
def test_an_answer_is_the_users_with_its_question(tool: str, given: dict[str, Any], result: str) -> None:
    (said,) = ledger(Talk().call(tool, given, result)).said
    assert (said.text, said.beside) == ("8123", "Which port?")


@pytest.mark.parametrize(
    "result",
    [
        "User declined to answer the questions.",
        "The user dismissed the dialog.",
        "User cancelled the request.",
        "[User dismissed the question]",
        '{"answers":{},"note":"User dismissed the question without answering."}',
        '{"question": "Which port?", "user_response": "The user did not provide a response within the limit."}',
        "The user is not available to respond and will review your work later.",
    ],
)
def test_a_question_that_was_not_answered_has_no_words_of_the_user(result: str) -> None:
    assert ledger(Talk().call("ask_user_question", _ASKED, result)).said == ()


def test_a_change_that_git_put_away_is_none_until_it_is_taken_back() -> None:
    talk = Talk().edit("a.py", "one", "two").shell("git stash", "Saved working directory")
    assert [file.life for file in ledger(talk).files] == [Life.READ]
    assert [file.life for file in ledger(talk.shell("git stash pop", "Dropped refs/stash@{0}")).files] == [Life.CHANGED]


def test_tasks_that_are_kept_in_a_table_are_folded() -> None:
    talk = Talk().call(
        "sql",
        {
            "query": "INSERT INTO todos (id, title, status) VALUES ('a', 'Cache (all) of it', 'pending'),\n"
            "('b', 'It''s b', 'x')"
        },
    )
    talk.call("sql", {"query": "UPDATE todos SET status = 'done' WHERE id = 'b'; DELETE FROM todos WHERE id IN ('c')"})
    assert [(task.text, task.life) for task in ledger(talk).tasks] == [
        ("Cache (all) of it", Life.OPEN),
        ("It's b", Life.DONE),
    ]


def test_a_list_of_tasks_in_one_text_is_folded() -> None:
    talk = Talk().call(
        "TodoWrite", {"todos": "1. [completed] Read it\n2. [in_progress] Cache it\n3. [pending] Test it"}
    )
    assert [task.life for task in ledger(talk).tasks] == [Life.DONE, Life.IN_PROGRESS, Life.OPEN]


_IN_BACKGROUND = "Command running in background with ID: b1"
_STILL = "Chunk ID: a\nWall time: 1 seconds\nProcess running with session ID 77\nOutput:\n"


@pytest.mark.parametrize("failed", [True, False])
def test_a_check_in_the_background_ends_as_its_output_shows(failed: bool) -> None:
    code, end = (1, "1 failed, 2 passed in 1s") if failed else (0, "3 passed in 1s")
    talk = Talk().call("Bash", {"command": "pytest", "run_in_background": True}, _IN_BACKGROUND)
    status = "failed" if failed else "completed"
    talk.call("TaskOutput", {"task_id": "b1"}, f"<status>{status}</status>\n<output>\n{end}\n</output>")
    codex = Talk().call("exec_command", {"cmd": "pytest"}, _STILL)
    codex.call("write_stdin", {"session_id": 77}, f"Process exited with code {code}\nOutput:\n{end}")
    for found in map(ledger, (talk, codex)):
        assert [(one.text, one.life) for one in found.checks] == ([] if failed else [("pytest", Life.PASSED)])
        assert [one.life for one in found.problems] == ([Life.OPEN] if failed else [])


@pytest.mark.parametrize(
    "still",
    [
        "Command is still running in the user's terminal.\nHere's the output so far:\ncollected 3 items",
        "Command is still running in terminal 1 from '/p'.\nHere's the output so far:\ncollected 3 items",
        '{"output": "Background process started", "session_id": "proc_1", "exit_code": 0, "error": null}',
    ],
)
def test_a_check_that_goes_on_has_not_passed(still: str) -> None:
    assert ledger(Talk().shell("false", "it failed", failed=True).shell("pytest", still, failed=False)).checks == ()


@pytest.mark.parametrize(
    "result",
    [
        "[Operation Cancelled] Reason: User did not allow tool call",
        "Wall time: 3.2 seconds\naborted by user",
        "The user rejected permission to use this specific tool call.",
    ],
)
def test_a_command_that_the_user_refused_is_no_problem(result: str) -> None:
    kept = ledger(Talk().shell("pytest", result, failed=True))
    assert (kept.problems, kept.checks) == ((), ())


def test_a_note_that_a_check_in_the_background_failed_is_a_problem() -> None:
    talk = Talk().call("Bash", {"command": "npm test", "run_in_background": True}, _IN_BACKGROUND)
    talk.user(
        "<task-notification>\n<task-id>b1</task-id>\n<status>failed</status>\n"
        '<summary>Background command "npm test" failed with exit code 1</summary>\n</task-notification>'
    )
    assert [one.life for one in ledger(talk).problems] == [Life.OPEN]


@pytest.mark.parametrize(
    "output",
    [
        "Test Case 'TaxTests.testRound' failed (0.1 seconds)\nExecuted 3 tests, with 1 failure (0 unexpected)",
        "[  FAILED  ] TaxTests.testRound\n1 FAILED TEST",
        "TaxTests > testRound() FAILED\nBUILD FAILED in 2s",
        "1) TaxTests::testRound\nTests: 3, Failures: 1.",
        "FAIL: testRound (tests.TaxTests)\nFAILED (failures=1)",
    ],
)
def test_of_a_failed_run_the_test_is_named(output: str) -> None:
    (problem,) = ledger(Talk().shell("make test", output, failed=True)).problems
    assert "testRound" in problem.text


@pytest.mark.parametrize(
    ("prompts", "life", "beside"),
    [
        (4, Life.OPEN, ""),
        (6, Life.OPEN, "no task was updated in the 6 prompts since"),
        (30, Life.EARLIER, "open; no task was updated in the 30 prompts since"),
    ],
)
def test_an_open_task_says_that_its_list_is_old(prompts: int, life: Life, beside: str) -> None:
    todos = [{"content": "Add the export", "status": "pending"}, {"content": "Read it", "status": "completed"}]
    talk = Talk().user("Begin.").call("TodoWrite", {"todos": todos})
    for number in range(prompts):
        talk.user(f"Now paint part {number}.").agent("Painted.")
    open_task, done = ledger(talk).tasks
    assert (open_task.life, open_task.beside) == (life, beside)
    assert (done.life, done.beside) == (Life.DONE, "")


def test_a_call_that_is_written_in_tags_is_no_answer() -> None:
    talk = Talk().user("Go on.").agent("I run it.\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>")
    assert ledger(talk).words == ()
    assert ledger(talk.agent("It is in src, below the two old folders.")).words != ()


@pytest.mark.parametrize(
    ("later", "shown"),
    [
        ("mise run test", ["mise run test"]),
        ("pytest", ["pytest"]),
        ("go test ./other", ["pytest tests/test_a.py", "go test ./other"]),
    ],
)
def test_a_stale_check_is_left_out_if_all_of_its_kind_ran_later(later: str, shown: list[str]) -> None:
    talk = Talk().shell("x", "error: no", failed=True).shell("pytest tests/test_a.py", "1 passed in 0.1s")
    talk.edit("a.py", "1", "2").shell(later, "12 passed in 0.3s")
    assert [check.text for check in ledger(talk).checks] == shown
