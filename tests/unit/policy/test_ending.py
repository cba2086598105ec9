"""What contexts hold after an agent's compaction, by the compactions that are known."""

from ullage.policy.evidence import Compacted, ending
from ullage.tokens.tracker import Ending


def seen(added: int, hidden: int = 40_000, *, version: str = "2", model: str = "m") -> Compacted:
    return Compacted(tokens=167_000, version=version, model=model, rest=hidden + added, hidden=hidden)


def test_the_median_of_three_compactions_of_the_same_version_and_model_is_expected() -> None:
    known = [seen(5_000), seen(8_000), seen(20_000, hidden=42_000), *[seen(1, version="1")] * 4]
    assert ending(known, "2", "m") == Ending(hidden=40_000, added=8_000, deviation=5_000)


def test_with_fewer_those_of_other_versions_then_of_other_models_count() -> None:
    versions = [seen(5_000), seen(6_000, version="1"), seen(7_000, version="1")]
    found = ending([*versions, *[seen(99, model="n")] * 9], "2", "m")
    assert found is not None
    assert found.added == 6_000
    models = ending([seen(5_000), seen(6_000, model="n"), seen(7_000, model="n")], "2", "m")
    assert models is not None
    assert models.added == 6_000


def test_nothing_is_expected_of_fewer_than_three_or_of_those_that_do_not_say_what_was_hidden() -> None:
    assert ending([seen(5_000), seen(6_000)], "2", "m") is None
    assert ending([seen(5_000), seen(6_000), seen(0), Compacted(tokens=1, version="2", model="m")], "2", "m") is None
