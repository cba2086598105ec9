"""`ullage store copy`: copies the sessions of one store into another."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from msgspec import Struct

from ullage.cli.arguments import add_json, read_options
from ullage.cli.drawing import Screen, plural, print_json, working
from ullage.cli.reports import Report, filled
from ullage.cli.store_choice import chosen_store
from ullage.model.errors import InputError
from ullage.model.store_address import is_address
from ullage.store.store_copy import CopiedStore, copy_store
from ullage.store.store_place import is_there, local_path, open_store_at, open_to_read_at


class StoreCopyOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `ullage store copy`: the places of two stores."""

    source: str
    target: str
    json: bool


class StoreCopyReport(Report, frozen=True, kw_only=True):
    """What `ullage store copy --json` prints. The ids of sessions say what became of them: `new` and `grown` were
    written, `unchanged` were there, `differing` were continued differently in both stores and `deleted` were deleted in
    the second: these two are left as they are. `written` counts the records that were written, and `records` those that
    both stores have now; `sha256` is the digest of these, as read from the second store."""

    new: tuple[str, ...]
    grown: tuple[str, ...]
    unchanged: tuple[str, ...]
    differing: tuple[str, ...]
    deleted: tuple[str, ...]
    written: int
    records: int
    sha256: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["copy"], help="copy: add what is new, compare the rest, change nothing else")
    parser.add_argument("source", metavar="FROM", help="a store: a file, or postgresql://HOST/DATABASE")
    parser.add_argument("target", metavar="TO", help="the store that gets the conversations, made if it is missing")
    add_json(parser)


_NAMED = 5


def run(args: Namespace) -> int:
    """Copies what the second store lacks, and prints what was done, or with `--json` a `StoreCopyReport`. Returns 1 if
    sessions were continued differently in both stores, otherwise 0. A copy that is interrupted is continued by the same
    command.

    Raises `InputError` if there is no first store or if both are the same one, and `InvalidRequest` if an address
    contains a password.
    """
    options, screen = read_options(args, StoreCopyOptions), Screen.of(args)
    source, target = _place(options.source), _place(options.target)
    if not is_there(source):
        raise InputError(f"there is no store at {source}: name a file or postgresql://HOST/DATABASE")
    if source == target or (not is_address(source) and local_path(source).resolve() == local_path(target).resolve()):
        raise InputError("both are the same store: name another one to copy to")
    with working(f"Copying to {target}") as tell, open_to_read_at(source) as read, open_store_at(target) as written:
        copied = copy_store(
            read, written, lambda done, of, count: tell(f"Copying: {done:,} of {of:,} conversations, {count:,} records")
        )
    if options.json:
        print_json(filled(StoreCopyReport, (copied,), sha256=copied.digest))
    else:
        screen.print(line for text in _words(copied) for line in screen.prose(text))
    return 1 if copied.differing else 0


def _place(given: str) -> str:
    place = chosen_store(given)
    if place is None:
        raise InputError("a store has no name: name a file or postgresql://HOST/DATABASE")
    return place


def _words(copied: CopiedStore) -> Iterator[str]:
    counts = f"{len(copied.new):,} new, {len(copied.grown):,} continued, {len(copied.unchanged):,} there before"
    yield f"{plural(copied.written, 'record')} copied; conversations: {counts}."
    yield f"Both have these {plural(copied.records, 'record')} of them, compared one by one: SHA-256 {copied.digest}"
    if copied.deleted:
        yield f"Deleted in the second store, and left so: {_named(copied.deleted)}"
    if copied.differing:
        yield f"Continued differently in both stores, and left as they are: {_named(copied.differing)}"


def _named(ids: tuple[str, ...]) -> str:
    more = len(ids) - _NAMED
    return ", ".join(ids[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
