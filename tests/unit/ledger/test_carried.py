"""Whether a context says something is asked without a language: by words, characters, numbers, names and negations."""

from collections.abc import Sequence
from random import Random

import pytest

from support.build import assistant, user
from support.tables import every
from ullage.ledger.carried import Context
from ullage.ledger.contradiction import otherwise, without_contradictions
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.ledger.ledger_page import lacking
from ullage.ledger.words import parts_of
from ullage.model.message import CompactionBlock, Message, Role

# What users type: rules, decisions, tasks and answers, short, in 26 languages.
TYPED = (
    "Never push to main.",
    "don't push",
    "use pnpm not npm",
    "No new dependencies please.",
    "yes, let's go with A",
    "The retry limit must stay 7.",
    "Keep the public API as it is.",
    "You must not touch migrations/0007_init.sql",
    "IMPORTANT: never commit secrets.",
    "Only change files in src/.",
    "Always run ruff before you commit.",
    "From now on answer in German.",
    "We ship on Friday, so keep it minimal.",
    "I prefer composition over inheritance here.",
    "The port is 8123 and staging lives at https://stage.example.test/api",
    "make sure the coverage stays above 92%",
    "Use tabs? No. Four spaces.",
    "skip the flaky test for now",
    "Verwende niemals Tabulatoren im Quelltext, nur Leerzeichen.",
    "Wir nehmen SQLite statt Postgres, weil der Server keinen Datenbankdienst hat.",
    "Bitte keine Emojis in Commit-Nachrichten.",
    "Ne touche jamais au dossier des migrations.",
    "On garde l'ancienne API jusqu'en mars.",
    "No toques la rama principal.",
    "Usa siempre comillas simples en Python.",
    "Não altere os testes existentes.",
    "Mantenha a cobertura acima de 90%.",
    "Non usare variabili globali.",
    "Raak de map migrations niet aan.",
    "Rør aldrig ved konfigurationen.",
    "Rör inte databasen.",
    "Ikke bruk sudo.",
    "Älä koske siirtoihin.",
    "Nie używaj globalnego stanu.",
    "Nikdy neměň schéma databáze.",
    "Soha ne módosítsd a migrációkat.",
    "Nu modifica fișierele din src/api.",
    "Μην αγγίζεις τον φάκελο migrations.",
    "Никогда не используй табуляцию и не трогай файлы в каталоге миграций.",
    "Не чіпай гілку main.",
    "Asla ana dala gönderme.",
    "لا تغيّر ملفات الترحيل أبدًا.",
    "לעולם אל תדחוף לענף הראשי.",
    "माइग्रेशन फ़ोल्डर को कभी मत बदलो।",
    "মাইগ্রেশন ফোল্ডার বদলাবে না।",
    "மெயின் கிளைக்கு தள்ள வேண்டாம்.",
    "永远不要修改 migrations 目录下的文件，必须使用空格缩进，禁止使用制表符。",
    "我们决定使用 SQLite 而不是 Postgres。",
    "请实现重试队列",
    "絕對不要推送到 main 分支。",
    "マイグレーションのファイルは絶対に変更しないでください。",
    "テストをスキップしないで。",
    "마이그레이션 폴더는 절대 수정하지 마세요.",
    "main 브랜치에 푸시하지 마.",
    "ห้ามแก้ไขโฟลเดอร์ migrations",
    "Đừng bao giờ đẩy lên nhánh main.",
    "Jangan pernah mengubah berkas migrasi.",
    "Kamwe usibadilishe faili za uhamiaji.",
    "Ezt ne commitold.",
    "Nu push på fredag.",
)
WORK = (
    "The login bug was in src/auth/token.py: the token was compared before it was refreshed, and the test for the "
    "retry queue did not wait. The files under migrations were read, the public API was listed, and main was used.",
    "1. Primary Request: speed up the parser.\n2. Files: src/mod1.py, src/api/public.py, commit 4f1c2aa on main.",
)


def carried(*texts: str) -> Context:
    return Context([user(f"m{place}", text) for place, text in enumerate(texts)])


@every("typed", TYPED)
def test_what_a_summary_of_other_things_does_not_have_is_not_said(typed: str) -> None:
    assert not carried(*WORK).says_all(typed)


@pytest.mark.parametrize("frame", ['- "{}"', "The user said: {} Then the work went on.", "> {}", "   * **{}**  "])
def test_nearly_all_that_a_summary_quotes_is_said(frame: str) -> None:
    said = [carried(*WORK, frame.format(typed)).says_all(typed) for typed in TYPED]
    assert sum(said) >= 0.95 * len(TYPED)


def test_capitals_accents_full_width_letters_and_line_breaks_make_no_difference() -> None:
    said = "NEVER  push\nto main; ne touche jamais au DOSSIER des migrations généré; ｕｓｅ ｐｎｐｍ ｎｏｔ ｎｐｍ"
    for typed in ("never push to main", "Ne touche jamais au dossier des migrations genere", "use pnpm not npm"):
        assert carried(said).says(typed)


@pytest.mark.parametrize(
    ("typed", "summary"),
    [
        (
            "Please do not touch the folder with the migrations again",
            "Please do touch the folder with the migrations again",
        ),
        ("The retry limit of the queue must stay at 7 for now", "The retry limit of the queue must stay at 9 for now"),
        (
            "Write the new module into src/queue.py and nothing else",
            "Write the new module into src/cache.py and nothing else",
        ),
        (
            "Ändere bitte nicht die Dateien im Ordner der Migrationen",
            "Ändere bitte die Dateien im Ordner der Migrationen",
        ),
        ("数据库的迁移文件以后都不要再修改了", "数据库的迁移文件以后都要再修改了"),
    ],
)
def test_a_passage_without_the_negation_the_number_or_the_name_says_something_else(typed: str, summary: str) -> None:
    assert not carried(summary).says(typed)


def test_a_sentence_is_said_by_one_passage_and_not_by_words_from_everywhere() -> None:
    scattered = [
        f"{word} is a word. " + "There is much else to tell here. " * 6
        for word in ["run", "the", "whole", "suite", "before", "merging"]
    ]
    assert not carried(" ".join(scattered)).says("run the whole suite before merging")
    assert carried("He asked to run the whole test suite before merging it.").says("run the whole suite before merging")


def test_a_short_sentence_must_be_there_in_its_order() -> None:
    assert not carried("npm use not pnpm").says("use pnpm not npm")
    assert carried("so: use pnpm, not npm!").says("use pnpm not npm")


@pytest.mark.parametrize(
    ("typed", "summary"),
    [
        (
            "Reviews go to Ines Okafor, deployments to Tomasz Bielak.",
            "Reviews go to Tomasz Bielak, deployments to Ines Okafor.",
        ),
        ("Run the linter before the tests, not after.", "Run the linter after the tests, not before."),
        ("The limit is 30 MB, not 30 MiB.", "The limit is 30 MiB, not 30 MB."),
        ("Each upload has up to 25 MB.", "Each upload has up to 25 GB. A picture has 3 MB."),
        ("The gap on both sides is 8 px.", "The gap on both sides is 8 pt. The line is 2 px."),
        ("超时设为15秒,重试最多3次。", "超时设为3秒,重试最多15次。"),
    ],
)
def test_the_same_words_of_other_things_do_not_say_it(typed: str, summary: str) -> None:
    assert not carried(summary).says(typed)
    assert carried(f"He said so: {typed}").says(typed)


@pytest.mark.parametrize(
    ("typed", "summary", "elsewhere"),
    [
        (
            "Keep the old rates until the new shop is out.",
            "Keep the old rates, the new shop is out.",
            "We wait until six.",
        ),
        (
            "The tax is shown, except for the mobile app.",
            "The tax is shown for the mobile app.",
            "All passed except one.",
        ),
        ("Delete the old rates in the database.", "Keep the old rates in the database.", "Nothing to delete."),
        ("The first parcel of an order is free.", "The second parcel of an order is free.", "Read it first."),
        ("Show the parcels before the address there.", "Show the parcels after the address there.", "As before."),
        (
            "Guests may read the rates, editors may change them.",
            "Editors may read the rates, guests may change them.",
            "",
        ),
        (
            "Удали старые цены из базы данных магазина.",
            "Оставь старые цены из базы данных магазина.",
            "Файл удали потом.",
        ),
        (
            "새 데이터베이스 가격 표를 모두 바로 삭제해 줘",
            "새 데이터베이스 가격 표를 모두 바로 유지해 줘",
            "로그는 삭제해 둔다",
        ),
        (
            "请把数据库里的旧的运费表全部删除然后重新导入一次",
            "请把数据库里的旧的运费表全部保留然后重新导入一次",
            "日志可以删除。部删，除然。",
        ),
    ],
)
def test_a_word_of_a_sentence_must_be_in_the_passage_and_not_elsewhere(
    typed: str, summary: str, elsewhere: str
) -> None:
    assert not carried(f"{elsewhere} {WORK[0]} {summary}").says(typed)
    assert carried(f"{elsewhere} {WORK[0]} He said: {typed}").says(typed)


@pytest.mark.parametrize(
    "summary",
    [
        "Delete the log. Keep the old rates in the database.",
        "- Files to delete\n- the old rates are in the database",
        "1. Delete it.\n2. The old rates are in the database",
        "Is it to delete? The old rates in the database.",
        "## What to delete\n\nthe old rates in the database",
    ],
)
def test_a_sentence_is_not_said_by_the_end_of_one_and_the_beginning_of_the_next(summary: str) -> None:
    assert not carried(summary).says("Delete the old rates in the database.")


def test_a_sentence_goes_on_in_the_next_line_of_a_paragraph() -> None:
    assert carried("It was said: delete\nthe old rates\nin the database.").says("Delete the old rates in the database.")


def test_the_line_above_a_summary_says_nothing_of_the_conversation() -> None:
    block = CompactionBlock(
        compaction_number=1,
        timestamp=0,
        summary="Feature X is to be enabled for tenants in Quebec.",
        messages_archived=4,
        context_size_before=0,
    )
    context = Context([Message(id="m", role=Role.USER, content=(block,))])
    assert context.says("Feature X is to be enabled for tenants in Quebec.")
    assert not context.says("Feature X is not to be enabled for tenants in Quebec.")


def test_a_reply_of_one_word_is_said_by_a_line_of_its_own_alone() -> None:
    assert not carried("2 tests failed, and yes, they were mended").says_briefly("2")
    assert carried('All user messages:\n- "2"\n- "1,3"\n').says_briefly("2")
    assert carried('All user messages:\n- "2"\n- "1,3"\n').says_briefly("1,3")
    assert not carried('- "2"\n- "1,3,5"\n').says_briefly("1,3")


@pytest.mark.parametrize(
    "context",
    [
        'The user asked: "run the tests", then "use tabs", then "no".',
        "Der Nutzer sagte „use tabs“ und »no«, danach “No”.",
        "L’utilisateur a dit « use tabs » et «no».",
        "ユーザーは「use tabs」と言い、『no』と答えた。",
    ],
)
def test_a_short_message_is_said_by_a_quotation_of_it(context: str) -> None:
    assert carried(context).says_briefly("use tabs")
    assert carried(context).says_briefly("No")
    assert not carried(context).says_briefly("tabs")
    assert not carried(context.replace("use tabs", "use tabs or no")).says_briefly("use tabs")


BRIEF = (
    "never push to main",
    "yes",
    "use pnpm not npm",
    "go on",
    "der Port ist 8123",
    "oui",
    "继续",
    "option B",
    "why?",
)


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ("The user said: ", "; "),
        ("The user said ", ", "),
        ("He said ", " and then "),
        ("The user wrote ", ". The user wrote "),
        ("User: ", " "),
        ('Said, in order ("', '" / "'),
    ],
)
def test_short_messages_are_said_by_prose_that_runs_them_together(before: str, between: str) -> None:
    told = between.join(one.rstrip("?") for one in BRIEF)
    context = Context([user("m1", f"{before}{told}{before[-1:].strip()}.")], BRIEF)
    assert [one for one in BRIEF if not (context.says_briefly(one) or context.says(one))] == []


SHORT = (
    "yes",
    "no",
    "2",
    "B",
    "stop",
    "ja",
    "weiter",
    "oui",
    "sí",
    "да",
    "继续",
    "请先写测试",
    "はい",
    "네",
    "نعم",
    "כן",
    "👍",
)


@pytest.mark.parametrize(
    ("begin", "between", "end"),
    [
        ("Messages:\n- ", "\n- ", ""),
        ('The user said: "', '", "', '".'),
        ("The user said: ", ", ", "."),
        ("He wrote ", ". He wrote ", "."),
        ("He said ", " and then ", "."),
        ("", " ", ""),
    ],
)
def test_a_message_of_one_word_is_not_said_by_the_words_of_all_in_any_order(begin: str, between: str, end: str) -> None:
    typed = [*TYPED[:30], *SHORT]
    Random(1).shuffle(typed)
    told = begin + between.join(typed) + end
    words = told.split()
    assert len(left_of(typed, told)) <= 0.1 * len(typed)
    for seed in range(5):
        Random(seed).shuffle(words)
        assert left_of(typed, " ".join(words)) == typed


def left_of(typed: list[str], context: str) -> list[str]:
    entries = [Entry(kind=Kind.SAID, life=Life.OPEN, index=at, text=text) for at, text in enumerate(typed)]
    return [entry.text for entry in lacking(entries, Context([user("m1", context)], typed), frozenset())]


# A summary as agents write it: with numbered parts, lists, counts and code.
NUMBERED = """\
1. Primary Request and Intent:
   The checkout is computed per parcel. No other page changes (3 were read).
2. Errors: none. Branch: main
   a) The test of the second parcel failed, both here and there.
   B. Version 2 of the carrier's client is used, and stop, then stop.
3. Tasks:
   | 5 | add the label | done |
   - [x] 4. yes-or-no questions
4. No: nothing else.
"""


@every("reply", ["1", "2", "3", "4", "5", "no", "No.", "none", "B", "a", "main", "stop", "both", "done", "yes"])
def test_a_short_reply_is_not_said_by_labels_counts_and_words_in_passing(reply: str) -> None:
    typed = [reply, "never push to main", "commit that", "1", "3", "read the tests", "then fix it"]
    assert not Context([user("m1", NUMBERED)], typed).says_briefly(reply)
    quoted = f"{NUMBERED}5. All messages of the user:\n   6. {reply}\n"
    assert Context([user("m1", quoted)], typed).says_briefly(reply)


@pytest.mark.parametrize(
    ("typed", "context"),
    [
        ("Postgres", "We dropped Postgres and went on."),
        ("go on", "They go on holiday, then they commit."),
        ("yes", 'The user said "yes, but not now" to it.'),
        ("use pnpm", "never use pnpm, use npm"),
        ("commit", "the last commit, abc1234, is on main"),
        ("why?", "He asked which tests ran and why they failed."),
    ],
)
def test_a_short_message_is_not_said_by_words_of_another_sentence(typed: str, context: str) -> None:
    assert not Context([user("m1", context)], [typed, "never push to main"]).says_briefly(typed)


@pytest.mark.parametrize(
    ("typed", "context"),
    [
        ("use tabs please", "The user wants never to use tabs please."),
        ("keep the old api", "Do not keep the old api, it was said."),
        ("run the tests first", "Don't run the tests first."),
        ("benutze hier Tabs", "Benutze hier Tabs nicht."),
        ("修改数据库", "不要修改数据库"),
        ("please delete the branch alpha after that", "please delete the branch beta after that"),
    ],
)
def test_the_opposite_or_another_object_does_not_say_it(typed: str, context: str) -> None:
    assert not carried(context).says(typed)
    assert carried(f"He said: {typed}").says(typed)


def test_a_negation_of_the_sentence_before_says_nothing_of_this_one() -> None:
    assert carried("It did not work. Keep the old api, he said; no more.").says("keep the old api")


def test_sentences_end_at_their_ends_and_not_in_a_path() -> None:
    assert parts_of("Run `go test ./... -run Tax` now. Then stop! Really?") == [
        "Run `go test ./... -run Tax` now.",
        "Then stop!",
        "Really?",
    ]
    assert parts_of("先看测试。然后停下！") == ["先看测试。", "然后停下！"]


@pytest.mark.parametrize("messages", [[], [user("m1", "")], [assistant("m1", " \n ")]])
def test_an_empty_context_says_nothing(messages: Sequence[Message]) -> None:
    context = Context(messages)
    assert not any(context.says(typed) for typed in TYPED)


# What a summary says against the record, and what only looks so


def entry(kind: Kind, life: Life, text: str, name: str = "", changed: tuple[str, ...] = ()) -> Entry:
    return Entry(kind=kind, life=life, index=3, text=text, name=name, changed=changed)


OPEN_TASK = entry(Kind.TASK, Life.OPEN, "Add the CSV export to the shop", "4")
STARTED = entry(Kind.TASK, Life.IN_PROGRESS, "Add the CSV export to the shop", "4")
DONE_TASK = entry(Kind.TASK, Life.DONE, "Write the migration for orders", "5")
TRACKED = entry(Kind.TASK, Life.DONE, "shop-gqc.5", "shop-gqc.5")
PASSED = entry(Kind.CHECK, Life.PASSED, "go test ./...", "tests")
OLD_PASSED = entry(Kind.CHECK, Life.PASSED, "go test ./...", "tests", ("a.go",))
FAILS = entry(Kind.PROBLEM, Life.OPEN, "`npm test` failed: ✗ adds tax", "tests")
BROKEN = entry(Kind.PROBLEM, Life.OPEN, "`cargo build --release` failed: error[E0308]", "build")
MENDED = entry(Kind.PROBLEM, Life.MENDED, "`npm test` failed: ✗ adds tax", "tests")
COMMIT = entry(Kind.COMMIT, Life.LAST, "Add the export", "3f2a91c", ("shop/tax.py",))
CLEAN = entry(Kind.COMMIT, Life.LAST, "Add the export", "3f2a91c")
DELETED = entry(Kind.FILE, Life.DELETED, "/p/shop/old_tax.py")
CREATED = entry(Kind.FILE, Life.CREATED, "/p/shop/tax.py")


@pytest.mark.parametrize(
    ("known", "line"),
    [
        (OPEN_TASK, "- Add the CSV export to the shop: done"),
        (OPEN_TASK, "4. [x] Add the CSV export to the shop"),
        (OPEN_TASK, "- ✅ Add the CSV export to the shop"),
        (OPEN_TASK, "| 4 | Add the CSV export to the shop | completed |"),
        (OPEN_TASK, "The task “Add the CSV export to the shop” is finished."),
        (OPEN_TASK, "- Add the CSV export to the shop — erledigt"),
        (OPEN_TASK, "- 已完成: Add the CSV export to the shop"),
        (DONE_TASK, "- [ ] Write the migration for orders"),
        (DONE_TASK, "- Write the migration for orders (pending)"),
        (DONE_TASK, "1. in_progress: Write the migration for orders"),
        (PASSED, "- `go test ./...` fails"),
        (PASSED, "- go test ./... is still failing in orders"),
        (FAILS, "- `npm test` passes."),
        (FAILS, "- All 48 tests pass."),
        (FAILS, "The full test suite is green ✅"),
        (BROKEN, "- The build is clean"),
        (COMMIT, "- Last commit: `9d8c7b6` Add the export"),
        (COMMIT, "HEAD is at 9d8c7b6a1"),
        (COMMIT, "- All changes are committed."),
        (DELETED, "- Created: shop/old_tax.py"),
        (DELETED, "- New file `/p/shop/old_tax.py`"),
        (CREATED, "- Deleted `shop/tax.py`."),
    ],
)
def test_a_line_that_states_another_state_contradicts(known: Entry, line: str) -> None:
    assert [*otherwise([known], f"## State of work\n{line}\n")] == [(known, line)]
    assert without_contradictions(f"## State of work\n{line}\n- Go on.\n", [known]) == "## State of work\n- Go on.\n"


@pytest.mark.parametrize(
    ("known", "line"),
    [
        (OPEN_TASK, "- Add the CSV export to the shop (pending)"),
        (OPEN_TASK, "- Add the CSV export to the shop once the migration is done"),
        (OPEN_TASK, "- Add the CSV export to the shop is not done"),
        (OPEN_TASK, "- Done: the migration. Open: Add the CSV export to the shop"),
        (OPEN_TASK, "- The export is done"),
        (STARTED, "- ✅ Add the CSV export to the shop"),
        (DONE_TASK, "- Write the migration for orders: done"),
        (DONE_TASK, "The open question was whether to write the migration for orders by hand"),
        (TRACKED, "- shop-gqc.7 (open, blocked by shop-gqc.5)"),
        (PASSED, "- `go test ./...` failed at first: a nil map"),
        (PASSED, "- `go test ./... -race` fails"),
        (PASSED, "- `go test ./...` fails without CGO, passes with it"),
        (OLD_PASSED, "- `go test ./...` fails"),
        (FAILS, "- `npm test` fails"),
        (FAILS, "- All tests in cart/ passed before the change"),
        (FAILS, "- All tests should pass before the merge"),
        (FAILS, "- When all tests pass, commit."),
        (MENDED, "- `npm test` passes"),
        (BROKEN, "- All tests pass"),
        (COMMIT, "- Last commit 3f2a91c7d Add the export"),
        (COMMIT, "- Reverted commit 9d8c7b6"),
        (CLEAN, "- All changes are committed."),
        (DELETED, "- Deleted shop/old_tax.py, which was created by mistake"),
        (CREATED, "- Removed the rounding from shop/tax.py"),
        (CREATED, "- Created shop/tax.py"),
        (FAILS, ""),
    ],
)
def test_a_line_of_the_past_a_plan_or_the_same_state_contradicts_nothing(known: Entry, line: str) -> None:
    assert [*otherwise([known], line)] == []
    assert without_contradictions(line, [known]) == line
