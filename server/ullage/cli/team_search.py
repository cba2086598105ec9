"""Searches a team's archive and shows messages of it, each with whose it is and from which folder."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import asdict
from rich.text import Text

from ullage.app.chosen_team import open_archive
from ullage.cli.draw.text import fit_most
from ullage.cli.output import Screen, print_json, working
from ullage.cli.team_reports import TeamHitRow, TeamMessageReport, TeamSearchReport
from ullage.cli.typed_arguments import SearchOptions
from ullage.model.errors import InvalidRequest
from ullage.model.message import index_of, number_of
from ullage.service.ports.store import SearchHit
from ullage.system.team_choices import archive_of, choices_path, read_choices

DrawHit = Callable[[SearchHit, Screen], Iterable[Text]]
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.service.ports.team import TeamHit


def search_team(options: SearchOptions, screen: Screen, draw: DrawHit) -> int:
    """Prints the messages in the team's archive that match, or with `--show` one whole message. Returns 1 if nothing is
    found, otherwise 0. Raises `InvalidRequest` if no archive was chosen or the options don't go together."""
    if (options.session is None) != (options.show is None):
        raise InvalidRequest("--team searches all that is shared: --session and --show only open a message, together")
    archive = archive_of(options.archive, read_choices(choices_path()))
    if options.session is not None:
        return _show(options.session, options.show or "", archive, options, screen)
    with working("Searching"), open_archive(archive, is_team=True) as team:
        from ullage.store.team.team_archive import find_in_team  # noqa: PLC0415  (needs a package that few have)

        hits = find_in_team(team, options.query or "", options.limit)
    if options.json:
        print_json(TeamSearchReport(hits=tuple(map(_row, hits))))
    else:
        none = () if hits else (f"Nothing found for {options.query!r}.",)
        screen.print([*none, *_lines(hits, screen, draw)])
    return 0 if hits else 1


def _show(session: str, shown: str, archive: str, options: SearchOptions, screen: Screen) -> int:
    digits = shown.removeprefix("#")
    if not digits.isdecimal() or not int(digits):
        raise InvalidRequest(f"--show {shown!r}: a message in the team's archive is shown by its number, from 1 on")
    index = index_of(int(digits))
    with open_archive(archive, is_team=True) as team:
        from ullage.store.team.team_archive import open_in_team  # noqa: PLC0415  (needs a package that few have)

        (message,) = open_in_team(team, session, index, index + 1)
    if options.json:
        fields = {name: value for name, value in asdict(message).items() if name != "index"}
        print_json(TeamMessageReport(number=number_of(index), **fields))
    else:
        place = f"#{number_of(index)} of {message.messages:,}, {message.role}"
        head = (_whose(message.owner, message.folder, message.title, screen), Text(place, "dim"))
        screen.print([*head, *screen.prose(message.text)])
    return 0


def _row(hit: "TeamHit") -> TeamHitRow:
    found = hit.passage.hit
    return TeamHitRow(
        owner=hit.owner,
        folder=hit.folder,
        title=hit.title,
        session_id=found.session_id,
        number=number_of(found.index),
        role=found.role,
        score=found.score,
        snippet=found.snippet,
        fits=found.fits,
    )


def _lines(hits: "Sequence[TeamHit]", screen: Screen, draw: DrawHit) -> Iterator[Text]:
    """Yields the lines for all hits, those of one session together under whose it is, its folder and its title."""
    for session_id in dict.fromkeys(hit.passage.hit.session_id for hit in hits):
        of = [hit for hit in hits if hit.passage.hit.session_id == session_id]
        yield _whose(of[0].owner, of[0].folder, of[0].title, screen)
        for hit in of:
            yield from draw(hit.passage.hit, screen)
    if hits:
        found = hits[0].passage.hit
        show = f"A whole message: ullage search --team --session {found.session_id} --show {number_of(found.index)}"
        yield from (Text(line, "dim") for line in screen.prose(show))


def _whose(owner: str, folder: str, title: str, screen: Screen) -> Text:
    whose = f"{owner}  {folder}"
    room = max(len(owner), screen.room - len(whose) - 2)
    return Text.assemble((whose, "bold"), "  ", fit_most(title, room, screen.glyphs))
