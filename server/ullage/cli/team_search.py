"""Searches a team's archive, and draws whose each hit is and from which folder."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.text import Text

from ullage.app.chosen_team import archive_of, choices_path, open_archive
from ullage.cli.draw.text import fit_most
from ullage.cli.output import Screen, print_json, working
from ullage.cli.team_reports import TeamHitRow, TeamSearchReport
from ullage.cli.typed_arguments import SearchOptions
from ullage.model.errors import InvalidRequest
from ullage.model.message import number_of
from ullage.service.ports.store import SearchHit
from ullage.system.team_choices import read_choices

DrawHit = Callable[[SearchHit, Screen], Iterable[Text]]
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.service.ports.team import TeamHit


def search_team(options: SearchOptions, screen: Screen, draw: DrawHit) -> int:
    """Prints the messages in the team's archive that match. Returns 1 if nothing is found, otherwise 0. Raises
    `InputError` if no archive was chosen, and `InvalidRequest` if a session is named, which is on this machine."""
    if options.session or options.show:
        raise InvalidRequest("--team searches the team's archive: leave --session and --show out")
    archive = archive_of(options.archive, read_choices(choices_path()))
    with working("Searching"), open_archive(archive, is_team=True) as team:
        from ullage.store.team.team_archive import find_in_team  # noqa: PLC0415  (needs a package that few have)

        hits = find_in_team(team, options.query or "", options.limit)
    if options.json:
        print_json(TeamSearchReport(hits=tuple(map(_row, hits))))
    else:
        none = () if hits else (f"Nothing found for {options.query!r}.",)
        screen.print([*none, *_lines(hits, screen, draw)])
    return 0 if hits else 1


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
        whose = f"{of[0].owner}  {of[0].folder}"
        room = max(len(of[0].owner), screen.room - len(whose) - 2)
        yield Text.assemble((whose, "bold"), "  ", fit_most(of[0].title, room, screen.glyphs))
        for hit in of:
            yield from draw(hit.passage.hit, screen)
