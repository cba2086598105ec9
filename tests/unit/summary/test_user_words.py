"""The user's words: the task, every request verbatim, what is shortened first, and the answers to questions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.conversations import agent, bash, places, user
from support.counting import LengthCounter
from ullage.model.message import Message
from ullage.summary.choosing.composition import compose
from ullage.summary.choosing.items import Item
from ullage.summary.choosing.user_words import fit_requests, requests_of, task_of
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.excerpts import shorten
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest

LONG = (
    "Port part {} of the spool to Rust. It has many corners. Never touch config/legacy.ini. " + "All are small. " * 30
)
SESSION = tuple(message for number in range(4) for message in (user(LONG.format(number)), agent("Done.")))


def digest(*messages: Message, kept: tuple[str, ...] = ()) -> Digest:
    return read_messages(messages, places(messages), Reader(), kept)


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items]


def task(*messages: Message) -> str:
    """Returns the texts of the task, joined by ` | `."""
    return " | ".join(texts(task_of(digest(*messages))))


def size(item: Item) -> int:
    return len(item.text) // 4


def fitted(room: int, *messages: Message) -> list[str]:
    return texts(fit_requests(requests_of(digest(*messages)), size, room))


def test_the_task_is_the_newest_request_that_asks_for_work() -> None:
    first, second = user("Port the spool."), user("Now write the tests.")
    assert task(first, agent("Done."), second) == "Now write the tests."
    assert task(first, agent("Shall I go on?"), user("yes, go ahead")) == "Port the spool."
    assert task(first, agent("It still compiles."), user("check again")) == "Port the spool."
    assert task(first, agent("Done."), user("What did we do with the locks?")) == (
        "Port the spool. | What did we do with the locks?"
    )
    assert task(first, agent("Done."), user("Can you document it?")) == "Can you document it?"


def test_what_a_harness_answers_in_the_users_place_is_no_task() -> None:
    complaint = user("Please always provide EXACTLY ONE action in triple backticks, found 2 actions.")
    killed = user("The last command <command>make</command> timed out and has been killed.")
    run = agent("It builds.\n\n```bash\nmake\n```")
    assert task(user("Fix the build."), agent("Two."), complaint, run, killed) == "Fix the build."


def test_the_work_that_an_agent_hands_in_is_no_task() -> None:
    hands_in = agent("Done.\n```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff --cached\n```")
    assert task(user("Port the spool."), hands_in, user("diff --git a/a.py b/a.py\n+x = 1")) == "Port the spool."


def test_the_output_of_a_command_that_is_not_among_the_messages_is_no_request() -> None:
    assert digest(user("<returncode>0</returncode>\n<output>\nspool.py\n</output>")).requests == ()


def test_a_lone_question_is_the_task_and_without_a_request_there_is_none() -> None:
    assert task(user("Why is the spool slow?"), agent("Because of NFS.")) == "Why is the spool slow?"
    assert task_of(digest(agent("Hello."))) == []


def test_a_task_that_stays_in_the_context_says_so() -> None:
    first = user("Port the spool to Rust.")
    (item,) = task_of(digest(first, kept=(first.id,)))
    assert item.text == "Port the spool to Rust. (the message stays in the context)"
    newer = digest(user("Now the tests.")).requests
    (item,) = task_of(digest(first), newer)
    assert item.text == "Now the tests. (the message stays in the context)"


def test_every_archived_request_is_verbatim_and_one_that_stays_is_not_repeated() -> None:
    first, later = user("Port the spool.\nMind the locks."), user("Now the tests.")
    assert texts(requests_of(digest(first, agent("Done."), later))) == [first.text, later.text]
    assert texts(requests_of(digest(first, later, kept=(later.id,)))) == [first.text]


def test_a_question_is_followed_by_the_beginning_of_its_last_answer() -> None:
    asked = user("Where does v0.3.0 come from?")
    said = (agent("Let me look."), agent("You are right. The version stands in src/version.rs since the last release."))
    answered, other = requests_of(digest(asked, *said, user("Change it.")))
    assert answered.text.startswith("Where does v0.3.0 come from?\n→ #3 ")
    assert "src/version.rs since the last release." in answered.text
    assert other.text == "Change it."


def test_an_answer_that_only_announces_is_followed_by_what_it_announces() -> None:
    said = agent("Looking at the evidence, there are two things:\n\n- The cache is new.\n- `read()` has no test.")
    (answered,) = requests_of(digest(user("Why did it work before?"), said))
    told = "there are two things: The cache is new.; `read()` has no test."
    assert answered.text.endswith(told) or answered.text.endswith(told.replace(".;", "."))


def test_a_short_reply_is_followed_by_the_question_to_which_it_replies() -> None:
    asked = agent("`stage()` has no callers. Shall I remove it? Its tests pass.")
    _, reply, later = requests_of(digest(user("Look at git.py."), asked, user("yes"), agent("Done."), user("yes, all")))
    assert (reply.text, later.text) == ("yes\n← #2 Shall I remove it?", "yes, all")


def test_the_task_among_whole_requests_is_their_beginning_and_leaves_no_fence_open() -> None:
    code = "\n".join(f"step {number} of the loop;" for number in range(9))
    request = f"Port the spool:\n```c\n{code}\n```\n{'All are small. ' * 9}\nNever touch config/legacy.ini."
    summary = compose(
        SummaryRequest(messages=(user(request), agent("Done.")), indices=(0, 1), max_tokens=4_000), LengthCounter()
    ).summary
    shown = summary.split("## Task\n")[1]
    assert shown.startswith("- #1 Port the spool:")
    assert "```" not in shown
    assert "Never" not in shown


@pytest.mark.parametrize("said", ["继续", "好的，谢谢", "はい", "Ja, bitte weiter", "да", "oui, merci", "네"])
def test_a_consent_in_another_language_is_no_task(said: str) -> None:
    asked = "请修复 src/spool.py 里的缓存错误，不要改动公共接口。"
    assert task(user(asked), agent("Done."), user(said)).startswith(asked)


def test_a_request_without_spaces_is_shortened_at_the_ends_of_its_sentences() -> None:
    text = "请修复缓存错误。" + "每个部分都很重要，请仔细检查。" * 30 + "不要改动公共接口。"
    shown = shorten(text, 120)
    assert "不要改动公共接口。" in shown
    assert all(part.strip().endswith("。") for part in shown.split("[…]") if part.strip())


@pytest.mark.parametrize("said", ["Thank you so much for your help!", "Thanks a lot", "many thanks."])
def test_thanks_are_no_task(said: str) -> None:
    assert task(user("Port the spool."), agent("Done."), user(said)).startswith("Port the spool.")


def test_a_shortened_request_ends_with_no_list_mark_and_prefers_no_code() -> None:
    steps = "".join(f"{number}. Step {number} of the long list of all steps.\n" for number in range(1, 20))
    steps += "M112\tNever an emergency stop\tAll\n"
    text = (
        f"Port it.\n{steps}```\n# Never replace more than the first.\n```\n<!-- Do not fill this in. -->\nNever push."
    )
    shown = shorten(text, 200)
    assert not re.search(r"\d\.\s+\[…\]", shown)
    assert "Never push." in shown
    assert "Never replace" not in shown
    assert "Do not fill" not in shown
    assert "emergency" not in shown


def test_while_all_requests_fit_none_is_changed() -> None:
    assert fitted(10_000, *SESSION) == [LONG.format(number).strip() for number in range(4)]


def test_the_oldest_request_is_shortened_first_at_the_end_of_a_sentence() -> None:
    found = fitted(480, *SESSION)
    assert len(found[0]) < len(found[1])
    assert found[1:] == [LONG.format(number).strip() for number in range(1, 4)]
    assert all(part.strip().endswith(".") for part in found[0].split("[…]") if part.strip())


def test_a_shortened_request_leaves_no_fence_open() -> None:
    code = "\n".join(f"step {number} of the loop;" for number in range(60))
    said = user(f"Port the spool. It looks like this:\n```c\n{code}\n```\nThen write the tests.")
    assert "```" not in task(said, agent("Done."))
    assert "step 0 of the loop;" in task(said, agent("Done."))


def test_what_a_request_forbids_outlasts_the_rest_of_it() -> None:
    found = fitted(220, *SESSION)
    assert len(found) == 4
    assert all("Never touch config/legacy.ini." in text for text in found)


def test_a_text_that_is_shortened_again_has_one_gap_at_a_place() -> None:
    once = shorten(f"Port the spool to Rust. {'All are small. ' * 9}Never touch config/legacy.ini. {LONG}", 160)
    assert "small.  […] Never touch" in once
    assert "small. […] Never touch" in shorten(once, 130)


def test_the_newest_request_is_always_there() -> None:
    assert fitted(1, *SESSION)[-1].startswith("Port part 3") or "Never touch" in fitted(1, *SESSION)[-1]


@given(st.lists(st.text(min_size=1, max_size=900), max_size=6), st.integers(0, 600))
def test_fitted_requests_keep_their_order_and_their_room(said: list[str], room: int) -> None:
    items = requests_of(digest(*(user(text) for text in said)))
    found = fit_requests(items, size, room)
    assert [item.index for item in found] == sorted(item.index for item in found)
    assert sum(map(size, found[:-1])) <= room
    assert bool(found) is bool(items)


def test_what_the_user_said_in_refusing_a_call_is_a_request() -> None:
    refusal = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, "
        "the user said:\nno commits yet, please\n\nNote: The user's next message may contain a correction."
    )
    found = digest(user("Add a flag."), *bash("git commit -m flag", refusal, is_error=True), agent("I see."))
    assert [(request.text, request.index) for request in found.requests] == [
        ("Add a flag.", 0),
        ("no commits yet, please", 2),
    ]


def test_a_refusal_without_words_is_no_request() -> None:
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    found = digest(user("Add a flag."), *bash("git commit -m flag", refusal, is_error=True))
    assert texts(requests_of(found)) == ["Add a flag."]


def test_an_output_that_quotes_a_refusal_is_no_request() -> None:
    output = "log: The user doesn't want to proceed. the user said:\nno"
    assert texts(requests_of(digest(user("Add a flag."), *bash("cat log", output)))) == ["Add a flag."]


def test_a_newest_request_of_formulas_leaves_the_others_whole() -> None:
    formulas = "\n".join("ᵢ⊗ₖ" * 9 for _ in range(200))

    def symbols(item: Item) -> int:
        return sum(1 if sign.isascii() else 8 for sign in item.text) // 4

    found = fit_requests(
        requests_of(digest(user("Port it."), user("Test it."), user(f"Use these names:\n{formulas}"))), symbols, 900
    )
    assert texts(found)[:2] == ["Port it.", "Test it."]
    assert 600 <= sum(map(symbols, found)) <= 900


def test_a_newest_request_that_must_be_cut_makes_room_for_the_others_whole() -> None:
    long, short = "Rename every operator as listed here. " * 100, "Count the undefined references in the paper. " * 20
    room = size(requests_of(digest(user(short)))[0]) * 2
    first, last = fitted(room, user(short), agent("Done."), user(long))
    assert first == short.strip()
    assert room // 3 * 4 <= len(last) + 40 < len(long)


@pytest.mark.parametrize(
    "said",
    [
        "no, the block stays as it is",
        "use the RGB values in the themes, no indices!",
        "Take not the folder of the agent but the root of the repository.",
        "I said that the footer comes from the other file.",
        "actually, it's the colour of the tool that stays",
        "the link is actually 666666",
        "Section 9.4 is hallucinated.",
        "Nein, die Farbe bleibt so.",
        "Nimm nicht die Liste, sondern den Baum.",
        "Die Tests sollen dabei nicht laufen.",
        "Ich meinte die andere Datei.",
        "不对,用另一个文件",
        "我说的是根目录",
        "これではなく、あちらのファイルです",
    ],
)
def test_a_correction_outlasts_other_requests_in_a_long_session(said: str) -> None:
    talk = [part for number in range(60) for part in (user(f"Now port part {number} of the spool."), agent("Done."))]
    left = fitted(60, user("Port the spool."), agent("Done."), user(said), agent("I see."), *talk)
    assert said in left
    assert left[-1] == "Now port part 59 of the spool."


def test_the_second_option_of_a_list_corrects_nothing() -> None:
    text = f"Ask what to do: {'all parts are small, ' * 9}\n1. Yes - do it\n2. No - skip it\n{'They are. ' * 30}"
    assert "2. No" not in shorten(text, 120)


def test_a_mere_consent_goes_before_any_request_is_shortened() -> None:
    talk = [part for _ in range(20) for part in (user("yes, go on"), agent("It is done."))]
    screenshot = user("'/var/folders/T/Screenshot 2026-01-02 at 01.27.21.png'")
    asked = LONG.format(1).strip()
    messages = (user(asked), agent("Done."), screenshot, agent("I see."), *talk, user("Now the tests."))
    assert fitted(len(asked) // 4 + 4, *messages) == [asked, "Now the tests."]
