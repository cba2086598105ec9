"""Commands on sessions, stored or in files, with their arguments."""

from argparse import ArgumentParser
from pathlib import Path

from ullage.cli.arguments.shared_arguments import (
    Command,
    add_drawing,
    add_embeddings,
    add_file,
    add_json,
    add_provider,
    add_target,
    days,
    number,
    size,
)


def _context(parser: ArgumentParser) -> None:
    add_target(parser)
    add_drawing(parser)
    add_provider(parser)
    parser.add_argument("--messages", action="store_true", help="with --json: the messages, too")


def _messages(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--context", action="store_true", help="only messages in the context, not archived ones")
    parser.add_argument("--biggest", action="store_true", help="the biggest first")
    parser.add_argument("--limit", type=number, metavar="N", help="how many, the last (or the biggest)")
    add_drawing(parser)


def _compact(parser: ArgumentParser) -> None:
    add_target(parser, optional=False)
    parser.add_argument("--budget", type=number, metavar="TOKENS", help="the most the resulting context may count")
    parser.add_argument("--from", dest="first", metavar="MESSAGE", help="only from this message on (number or id)")
    parser.add_argument("--up-to", dest="last", metavar="MESSAGE", help="only up to this message (number or id)")
    parser.add_argument("--focus", default="", metavar="TEXT", help="what to keep above all")
    add_drawing(parser)
    add_provider(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="write the JSON object to this file; `-`: to standard output"
    )


def _undo(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id, or the beginning of it")
    parser.add_argument("edit", nargs="?", metavar="EDIT", help="the edit's id (see history); without it, the last one")
    parser.add_argument("--dry-run", action="store_true", help="only say what would come back")
    add_drawing(parser)


def _history(parser: ArgumentParser) -> None:
    add_target(parser)
    add_drawing(parser)


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the transcript, a folder of them, or `-` for standard input")
    add_file(parser)
    add_drawing(parser)


def _sessions(parser: ArgumentParser) -> None:
    parser.add_argument("--cwd", metavar="FOLDER", help="only sessions of this folder")
    parser.add_argument("--limit", type=number, default=20, metavar="N", help="how many, the newest first")
    parser.add_argument("--ids", action="store_true", help="print the ids alone, one a line")
    add_drawing(parser)


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="?", metavar="QUERY", help="words, names or a question; archived messages count")
    parser.add_argument("--session", metavar="SESSION", help="only in this session")
    parser.add_argument("--limit", type=number, default=10, metavar="N", help="how many, the best first")
    parser.add_argument(
        "--show", metavar="MESSAGE", help="print this message of the session whole (number or id), instead of searching"
    )
    parser.add_argument(
        "--team",
        action="store_true",
        help="search the team's archive: what others share with you, and what you share; with --session and --show, "
        "open a message of it",
    )
    parser.add_argument("--archive", metavar="ADDRESS", help="with --team: the archive, as of `ullage team`")
    add_embeddings(parser)
    add_drawing(parser)


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id, or the beginning of it")
    parser.add_argument(
        "--original",
        action="store_true",
        help="the agent's own file, byte for byte as it was: from the archive, or from its place. With a folder as "
        "--output, the files that belong to it, too",
    )
    parser.add_argument(
        "--version", type=number, metavar="N", help="with --original: which version of a file that was rewritten"
    )
    parser.add_argument(
        "--as",
        dest="shape",
        choices=["ullage", "anthropic", "openai"],
        default="ullage",
        help="the whole log (default), or the context as a provider's request",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="write to this file, not to standard output")


def _archive(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["on", "off"],
        help="on, off: keep agents' files from now on, or no longer. Without it: show what is kept",
    )
    add_json(parser)


def _store(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["copy"], help="copy: add what is new, compare the rest, change nothing else")
    parser.add_argument("source", metavar="FROM", help="a store: a file, or postgresql://HOST/DATABASE")
    parser.add_argument("target", metavar="TO", help="the store that gets the sessions, made if it is missing")
    add_json(parser)


def _team(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["share", "unshare", "send"],
        help="share: send redacted copies of a folder's sessions, now and at each `send`. unshare: remove them again. "
        "send: send what is new of all shared folders. Without it: list these",
    )
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="with share, unshare: the folder; this one")
    parser.add_argument(
        "--archive",
        metavar="ADDRESS",
        help="the team's archive, postgresql://HOST/DATABASE; by default that of ULLAGE_TEAM, or as before",
    )
    parser.add_argument(
        "--with",
        dest="members",
        action="append",
        default=[],
        metavar="ROLE",
        help="with share: who may read it, a role of the database or a group of roles; may be repeated",
    )
    parser.add_argument(
        "--private",
        action="append",
        default=[],
        metavar="PATTERN",
        help="with share: a regular expression of text that is left out, as secrets are; may be repeated",
    )
    parser.add_argument(
        "--by-hand",
        action="store_true",
        help="with share: what is new is sent by `ullage team send` alone, and not by Ullage's servers",
    )
    add_json(parser)


def _forget(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="SESSION",
        help="ids of sessions or agents' own, beginnings of ids, or agents' files",
    )
    parser.add_argument("--older-than", type=days, metavar="AGE", help="those not changed for so long: 90d, 12w, 1y")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="those that began in this folder or one in it")
    parser.add_argument("--matching", metavar="PATTERN", help="those whose title, or agent's file, fits: '*billing*'")
    parser.add_argument(
        "--to", type=size, metavar="SIZE", help="the oldest, until the archive of agents' files is this small: 2GB"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_json(parser)


def _inspect(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id, or the beginning of it")
    parser.add_argument("--json", action="store_true", help="print one JSON object an event, with all its fields")


SESSION_COMMANDS = (
    Command("context", "show how full a context is, and of what", _context),
    Command("messages", "list the messages of a conversation, with their numbers", _messages),
    Command("compact", "replace the older part of a context by a summary", _compact),
    Command("undo", "undo an edit of a stored session, such as a compaction", _undo),
    Command("history", "list the edits of a context and what each saved", _history),
    Command("import", "read another program's transcript into a stored session", _import, "import_file"),
    Command("sessions", "list stored sessions", _sessions),
    Command("search", "search all messages of all conversations", _search),
    Command("export", "write a stored session out", _export),
    Command("archive", "show what is kept of agents' own files, and turn it on or off", _archive),
    Command("store", "copy sessions from one store to another", _store, "store_copy"),
    Command("team", "choose which folders' sessions a team can search, redacted", _team),
    Command("forget", "remove conversations from the store, its search and the archive, for good", _forget),
    Command("delete", "the other name of `forget`", _forget, "forget"),
    Command("inspect", "print the events of a stored session's log, one a line", _inspect),
)
