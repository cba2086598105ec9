"""The command line: the table of commands, their help and old names, and the parser. The commands themselves are in
`commands/<module>.py`, each with its arguments, and imported only when they are asked for: `--help` must be fast."""

import os
import shutil
import sys
from argparse import Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from textwrap import fill, wrap
from typing import Any, NamedTuple, NoReturn, cast

from ullage import __version__
from ullage.cli.arguments import COMMON, add_common, add_shared
from ullage.cli.terminal import asked_color, color_help, show_long, wants_color


class Command(NamedTuple):
    """A command of `ullage`: its name, what it takes as the help shows it, one sentence that says what a user gets, and
    its module in `commands`. An empty `module` has the command's name. `work` and `arguments` are the module's
    functions that run it and add its arguments to its parser; "" if there are none."""

    name: str
    takes: str
    help: str
    module: str = ""
    work: str = "run"
    arguments: str = "add_arguments"


_DEFAULT, _HELP, _OPTIONS = "here", "help", "options"
# The first page of the help: what a terminal user needs.
_FIRST = (
    Command(_DEFAULT, "", "your conversations in this folder and what runs now, the fullest first"),
    Command("context", "[WHICH]", "how full a conversation is, of what, and until when"),
    Command("watch", "", "the same list, live: a compaction is seen before it comes"),
    Command("search", "WORDS", "where something was said, in every conversation on this machine"),
    Command("lost", "[WHICH]", "what a compaction left out; --brief writes it for the agent"),
    Command(
        "continue",
        "[WHICH]",
        "a new session for the agent: compacted, as before its compaction, from a message, for another agent",
        "continue_session",
    ),
    Command("wire", "[AGENT]", "agents get back by themselves what they lose; `unwire` undoes it"),
    Command("doctor", "", "whether all is well, and what to do if not"),
)
_MORE = (
    Command("unwire", "[AGENT]", "agents without Ullage again", "wire", "run_unwire", "add_unwire_arguments"),
    Command("demo", "", "a conversation that fills up, is compacted and comes back"),
    Command("cost", "", "what the conversations of this folder cost, by day and by what it was paid for"),
    Command("messages", "[WHICH]", "the messages of a conversation, with their numbers"),
    Command("compact", "WHICH", "a conversation with a summary in place of its older part"),
    Command("undo", "WHICH", "a context as it was before a compaction by Ullage"),
    Command("import", "FILE", "a conversation of a file, kept by Ullage", "import_file"),
    Command("export", "WHICH", "a conversation in a file: whole, as a request, or the agent's own"),
    Command("keep", "[on|off]", "which conversations are kept when their agent deletes them"),
    Command("forget", "WHICH", "a conversation removed from all that Ullage keeps, for good"),
    Command("team", "", "folders whose conversations a team can search, without secrets"),
    Command("store", "copy", "the conversations of one store in another", "store_copy"),
    Command("man", "", "the manual page", "completion", "run_man", ""),
    Command(_HELP, "[COMMAND]", "the help of a command; `help options` has what many take", "completion", "run", ""),
)
_PROGRAMS = (
    Command("statusline", "", "one line for an agent's status line, tmux or a prompt"),
    Command("hook", "AGENT", "the answer to an agent's hook; `wire` adds it"),
    Command("mcp", "", "the Model Context Protocol: an agent looks up its own conversation"),
    Command("lsp", "", "the Language Server, for editors"),
    Command("acp", "", "the Agent Client Protocol, as an agent or before one"),
    Command("schema", "", "the JSON Schema of the protocol, the settings or the output"),
    Command("completion", "SHELL", "the completion script of a shell"),
)
COMMANDS = (*_FIRST, *_MORE, *_PROGRAMS)
# Names and options of the release before, with those that they have now. They work for one release.
OLD_NAMES = {
    "brief": ("lost", "--brief"),
    "history": ("context", "--edits"),
    "sessions": (_DEFAULT, "--stored"),
    "inspect": ("export", "--events"),
    "delete": ("forget",),
    "archive": ("keep",),
}
_OLD_OPTIONS = {("continue", "--from"): "--after", ("search", "--session"): "--conversation"}
_HELP_OPTIONS = ("-h", "--help")
_NAMES = tuple(command.name for command in COMMANDS)
# Longer lines of help are hard to read, however wide the terminal is.
_WIDEST_HELP = 100
# The cells that a sentence of help has at least.
_LEAST = 20
_ABOUT = "Shows how full the contexts of your coding agents are, and gives back what their compactions leave out."
_WHICH = (
    "WHICH is a conversation: the beginning of its id, or its file. Without it, the newest one of this folder. "
    "`ullage COMMAND --help` has the options of a command, `ullage help options` those that many take."
)
_STATUSES = """\
exit status:
  0    done
  1    nothing was found, or `doctor` found something wrong
  2    wrong arguments, or an input, store or output that cannot be used
  130  interrupted (Ctrl-C)
  141  the reader of the output has left

environment:
  NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR
               colours; --color overrides them
  PAGER, LESS  the program that shows long output on a terminal
  COLUMNS      the width of drawings, 40 to 200
  ANTHROPIC_API_KEY, OPENAI_API_KEY
               the keys of the providers
  ULLAGE_STORE the session store without --store, as its value
  ULLAGE_NOTICES
               on, off or desktop: good moments for a new session are told, or
               not, or by the desktop, too, with idle compactions and limits
  ULLAGE_LIMIT a limit of your own for conversations: 300k tokens, or $5
  ULLAGE_WARN_AT
               the setting context.warnAt: the share from which on it warns
  ULLAGE_TEAM  the team's archive that `search --team` and `mcp` search
  ULLAGE_OFFLINE
               off, or gigabytes: the copy of a store on a server
  ULLAGE_DURABLE
               on: each commit waits for the disk
  ULLAGE_LSP_OPTIONS
               more options of `ullage lsp`
"""


class _OwnOptions(RawDescriptionHelpFormatter):
    """Formats the help of a command without the options that many commands take."""

    def add_usage(self, usage: Any, actions: Iterable[Action], groups: Any, prefix: Any = None) -> None:
        super().add_usage(usage, [one for one in actions if not _is_common(one)], groups, prefix)

    def add_arguments(self, actions: Iterable[Action]) -> None:
        super().add_arguments([one for one in actions if not _is_common(one)])


def _is_common(action: Action) -> bool:
    return getattr(cast("Any", action).container, "title", "") == COMMON


class Parser(ArgumentParser):
    """An argument parser that reports an invalid command line in one line and exits with status 2. It prints help in
    colour if `color_choice`, the value of `--color`, allows it, and in the pager if the terminal is too small."""

    color_choice = "auto"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # From Python 3.14 on, argparse has colours of its own, which know nothing of `--color`.
        self.color = False
        # The text of the help, if it is not that of the arguments.
        self.page = ""

    def format_help(self) -> str:
        return self.page or super().format_help()

    def print_help(self, file: Any = None) -> None:
        out, text = file or sys.stdout, self.format_help()
        colored = wants_color(self.color_choice, os.environ, on_terminal=out.isatty())
        shown = color_help(text) if colored else text
        # Help is printed while the arguments are parsed, so the parsed option comes too late for it.
        pages = out is sys.stdout and out.isatty() and sys.stdin.isatty() and "--no-pager" not in sys.argv
        if not (pages and show_long(shown, os.environ)):
            self._print_message(shown, out)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    @property
    def options(self) -> list[str]:
        """The names of the parser's long options, such as `--store`."""
        return [name for name in self._option_string_actions if name.startswith("--")]


def build_parser(color_choice: str = "auto", only: str | None = None) -> Parser:
    """Returns the parser of the whole command line, or with `only` that of one command, or of none if that is "".
    `color_choice` is the value of `--color` for the help.

    In what it parses, `module` is the name of the command's module in `commands`, `work` that of its function there,
    and `parser` is the command's own parser.
    """
    width = _help_width()
    parser = Parser(prog="ullage", formatter_class=partial(RawDescriptionHelpFormatter, width=width))
    parser.color_choice = color_choice
    lists = [_listed("commands:", _FIRST, width, "ullage ")]
    lists += [_listed(heading, rows, width) for heading, rows in (("more:", _MORE), ("for programs:", _PROGRAMS))]
    first, *others = ["\n".join(lines) for lines in lists]
    parts = ["usage: ullage [COMMAND] [options]", fill(_ABOUT, width), first, fill(_WHICH, width), *others]
    parser.page = "\n\n".join(parts) + "\n"
    parser.add_argument("--version", action="version", version=f"ullage {__version__}")
    add_shared(parser, set_defaults=True)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    for command in COMMANDS if only is None else (one for one in COMMANDS if one.name == only):
        about = f"{command.help[0].upper()}{command.help[1:]}."
        sub = commands.add_parser(
            command.name,
            help=command.help,
            description=fill(about, width),
            epilog="What many commands take: ullage help options",
            formatter_class=partial(_OwnOptions, width=width),
        )
        sub.color_choice = color_choice
        module = command.module or command.name
        sub.set_defaults(module=module, work=command.work, parser=sub)
        if command.arguments:
            getattr(import_module(f"ullage.cli.commands.{module}"), command.arguments)(sub)
        add_shared(sub, set_defaults=False)
    return parser


def options_page(color_choice: str = "auto") -> Parser:
    """Returns a parser whose help is the options that many commands take, the exit statuses and the environment."""
    width = _help_width()
    parser = Parser(
        prog="ullage COMMAND",
        usage="ullage COMMAND [options]",
        description="What many commands take.",
        epilog=_STATUSES,
        formatter_class=partial(RawDescriptionHelpFormatter, width=width),
        add_help=False,
    )
    parser.color_choice = color_choice
    add_common(parser)
    return parser


def _help_width() -> int:
    return min(_WIDEST_HELP, shutil.get_terminal_size().columns - 2)


def _listed(heading: str, commands: Sequence[Command], width: int, before: str = "") -> Iterator[str]:
    names = [f"{before}{'' if one.name == _DEFAULT else one.name} {one.takes}".strip() for one in commands]
    yield heading
    for name, command in zip(names, commands, strict=True):
        head = f"    {name:<{max(map(len, names))}}  "
        first, *more = wrap(command.help, max(_LEAST, width - len(head)))
        yield head + first
        yield from (" " * len(head) + line for line in more)


def parse(argv: Sequence[str]) -> Namespace:
    """Returns the parsed arguments. For `--help`, `help`, `--version` and invalid arguments, prints a text and exits
    the program instead. An old name is told on standard error, with the new one."""
    words = _with_command(_with_new_names(list(argv)), asked_color(argv))
    parser = build_parser(asked_color(argv), _find_command(words) or "")
    args, unknown = parser.parse_known_args(words)
    if unknown:
        own: Parser = args.parser
        option = next((word.split("=")[0] for word in unknown if word.startswith("-")), "")
        own.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(option, own.options)}")
    return args


def _with_new_names(words: list[str]) -> list[str]:
    """Returns the words with the new name of a command or an option in place of an old one."""
    command = _find_command(words)
    if command in OLD_NAMES:
        new = OLD_NAMES[command]
        _tell(f"ullage {command}", " ".join(["ullage", *(word for word in new if word != _DEFAULT)]))
        place = words.index(command)
        return [*words[:place], *new, *words[place + 1 :]]
    for place, word in enumerate(words):
        option, equals, value = word.partition("=")
        if new_option := _OLD_OPTIONS.get((command or "", option)):
            _tell(f"{command} {option}", f"{command} {new_option}")
            words = [*words[:place], f"{new_option}{equals}{value}", *words[place + 1 :]]
    return words


def _tell(old: str, new: str) -> None:
    sys.stderr.write(f"ullage: `{old}` is `{new}` now; the old name works until the next release\n")


def _with_command(argv: list[str], color: str) -> list[str]:
    """Returns the arguments with a known command; without a command, `here` is added. `help` becomes `--help`. Exits
    the program if there is no such command, and after the page of options."""
    command = _find_command(argv)
    if command == _HELP or (argv and argv[0] in _HELP_OPTIONS):
        asked = _find_command(argv[argv.index(_HELP) + 1 :] if command == _HELP else argv[1:])
        if asked is None or asked == _HELP:
            return ["--help"]
        if asked == _OPTIONS:
            options_page(color).print_help()
            sys.exit(0)
        return [_checked(OLD_NAMES.get(asked, (asked,))[0]), "--help"]
    if command is None:
        return argv if "--version" in argv or set(_HELP_OPTIONS) & set(argv) else [_DEFAULT, *argv]
    _checked(command)
    return argv


def _find_command(argv: Sequence[str]) -> str | None:
    """Returns the command: the first word that is neither an option nor the value of an option. Returns None if there
    is no such word, or if an option that belongs to a command comes first."""
    words = iter(argv)
    for word in words:
        if word in ("--store", "--color"):
            next(words, None)
        elif not word.startswith("-"):
            return word
        elif word not in ("--no-pager",) and not word.startswith(("--store=", "--color=")):
            # An option of a command: the command was left out.
            return None
    return None


def _checked(command: str) -> str:
    if command not in _NAMES:
        Parser(prog="ullage").error(f"there is no command {command!r}{_meant(command, _NAMES)}")
    return command


def _meant(word: str, known: Iterable[str]) -> str:
    # Imported on use: only a wrong word needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(word, list(known), n=1) if word else []
    return f"; did you mean {near[0]}?" if near else ""
