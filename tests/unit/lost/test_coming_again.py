"""What an agent probably attaches again after a compaction has the room in a brief that all else leaves."""

from ullage.agents.claude_code.reattached import paths_to_attach
from ullage.lost.brief import write_brief
from ullage.lost.coming_again import put_last
from ullage.lost.loss import Loss
from ullage.model.blocks import ToolUseBlock
from ullage.model.message import Message, Role
from ullage.survive.fact import Kind

_PATH = "/home/me/shop/orders.py"
_RULE = Loss(kind=Kind.CONSTRAINT, text="Never change `orders_total`.", index=1, names=("orders_total",), weight=4.0)


def _named(name: str, weight: float) -> Loss:
    text = f"I keep `{name}` as it is, because the report of the month reads it."
    return Loss(kind=Kind.NAME, text=text, index=2, names=(name,), name_weights=(weight,), weight=weight)


def _file(path: str, weight: float) -> Loss:
    return Loss(kind=Kind.PATH, text=path, index=3, names=(path,), path=path, weight=weight)


def test_what_comes_again_goes_last_and_the_rest_stays_as_it_is() -> None:
    there, missing = _named("orders_total", 3.0), _named("stock_total", 1.0)
    files = _file(_PATH, 2.0), _file("/home/me/shop/stock.py", 1.0)
    weighed = put_last((_RULE, there, missing, *files), {_PATH: "orders_total = 1"})
    assert _RULE in weighed
    assert [loss.text for loss in weighed if loss.kind is Kind.NAME] == [missing.text, there.text]
    assert [loss.text for loss in weighed if loss.kind is Kind.PATH] == ["/home/me/shop/stock.py", _PATH]
    assert missing in weighed


def test_a_brief_with_room_for_one_of_two_names_has_the_one_that_does_not_come_again() -> None:
    losses = (_named("orders_total", 3.0), _named("stock_total", 1.0))
    room = len(write_brief(losses, 10_000).text) - 20
    assert "orders_total" in write_brief(losses, room).text
    given = write_brief(put_last(losses, {_PATH: "orders_total = 1"}), room).text
    assert "stock_total" in given
    assert "orders_total" not in given


def test_without_files_nothing_changes() -> None:
    losses = (_named("orders_total", 3.0), _RULE)
    assert put_last(losses, {}) == losses


def test_of_a_file_whose_name_alone_comes_the_names_in_it_are_still_missing() -> None:
    loss = _named("orders_total", 3.0)
    assert put_last((loss,), {_PATH: ""}) == (loss,)


def test_the_five_files_come_that_were_changed_last_and_are_still_there() -> None:
    paths = [f"/home/me/shop/part{number}.py" for number in range(8)]
    calls = tuple(ToolUseBlock(id=path, name="Read", input={"file_path": path}) for path in paths)
    looked = ToolUseBlock(id="ls", name="Bash", input={"command": "ls"})
    context = [Message(id="m", role=Role.ASSISTANT, content=(*calls, looked, *calls))]
    times = {path: float(number) for number, path in enumerate(paths)}
    assert list(paths_to_attach(context, times.__getitem__)) == paths[:2:-1]
