"""`ullage undo`: undoes an edit of a stored session."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from ullage.app.compose import open_workspace
from ullage.cli.arguments import StoreOptions, add_conversation, add_drawing, read_options
from ullage.cli.drawing import Screen, percent, plain, plural, print_json
from ullage.cli.reports import Report
from ullage.model.words import shrinking
from ullage.service.archive.naming import find_edit, find_session
from ullage.service.archive.undo import Reverted, undo


class UndoOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage undo`."""

    session: str
    edit: str | None
    dry_run: bool


class UndoReport(Report, frozen=True, kw_only=True):
    """What `ullage undo --json` prints. `edits` are the ids of the undone edits, `messages_back` is the number of
    messages that are in the context again, and `before` and `after` are its tokens. With `--dry-run` nothing was
    changed."""

    session_id: str
    edits: tuple[str, ...]
    messages_back: int
    before: int
    after: int
    percent: int | None
    dry_run: bool


def add_arguments(parser: ArgumentParser) -> None:
    add_conversation(parser)
    parser.add_argument(
        "edit",
        nargs="?",
        metavar="EDIT",
        help="the edit's id (`ullage context --edits` lists them); without it, the last one",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would come back")
    add_drawing(parser)


def run(args: Namespace) -> int:
    """Undoes an edit of a stored session. Prints what is restored to the context, or with `--json` an `UndoReport`.
    Returns 0. Raises `NothingToUndo` or `EditNotFound`."""
    options, screen = read_options(args, UndoOptions), Screen.of(args)
    with open_workspace(options.store) as workspace:
        conversation = workspace.open(find_session(workspace.ports.store, options.session))
        before = conversation.used
        edit = find_edit(conversation, options.edit) if options.edit else None
        report = _report(undo(conversation, edit, dry_run=options.dry_run), before, options)
    if options.json:
        print_json(report)
    else:
        screen.print(plain(line, screen.glyphs) for line in _words(report))
    return 0


def _report(done: Reverted, before: int, options: UndoOptions) -> UndoReport:
    after, budget = done.conversation.used, done.conversation.budget
    return UndoReport(
        session_id=done.conversation.id,
        edits=tuple(edit.id for edit in done.edits),
        messages_back=done.messages_back,
        before=before,
        after=after,
        percent=percent(after, budget.window) if budget else None,
        dry_run=options.dry_run,
    )


def _words(report: UndoReport) -> Iterator[str]:
    full = "" if report.percent is None else f", {report.percent}% full"
    verb = "Would undo" if report.dry_run else "Undone"
    yield f"{verb}: {shrinking(report.before, report.after)} tokens{full}."
    if report.messages_back:
        back = "would be" if report.dry_run else "are"
        yield f"{plural(report.messages_back, 'message')} {back} back in the context."
    if len(report.edits) > 1:
        yield f"{len(report.edits)} edits of one action: {', '.join(report.edits)}"
