"""Fitting the weights: building the examples, the fit itself, and writing its result."""

import random
from pathlib import Path

import pytest

from fitting.__main__ import NAMES, write
from fitting.examples import examples_of
from fitting.logistic import Row, fit, judge, predict
from support.conversations import agent, bash, user
from ullage.summary import tuning
from ullage.summary.choosing.weights import Mention, features_of, weight_of
from ullage.summary.tuning import TUNING

TRUE = (-1.5, 2.0, -0.5)


def rows(seed: int) -> list[Row]:
    chance = random.Random(seed)
    drawn = [(float(chance.random() < 0.5), chance.uniform(0, 4)) for _ in range(8_000)]
    return [(x, 1.0, float(chance.random() < predict(TRUE, x))) for x in drawn]


def test_the_coefficients_that_made_the_outcomes_are_found_again() -> None:
    assert fit(rows(1)) == pytest.approx(TRUE, abs=0.15)


def test_a_good_fit_beats_the_mean_rate_and_is_calibrated() -> None:
    coefficients = fit(rows(1))
    found = judge([(predict(coefficients, x), weight, share) for x, weight, share in rows(2)])
    assert found.loss < found.constant
    assert found.auc > 0.7
    assert found.calibration < 0.1


def test_a_constant_prediction_ranks_nothing() -> None:
    found = judge([(0.25, 1.0, share) for share in (0.0, 0.0, 0.0, 1.0)])
    assert found.auc == 0.5
    assert found.loss == pytest.approx(found.constant)


def test_a_perfect_order_has_an_auc_of_one() -> None:
    assert judge([(0.1, 1.0, 0.0), (0.2, 1.0, 0.0), (0.9, 1.0, 1.0)]).auc == 1.0


def test_the_model_that_is_fitted_is_the_one_that_weighs() -> None:
    mention = Mention(said=3, called=1, since=7.5)
    coefficients = [getattr(TUNING, name) for name in NAMES]
    assert predict(coefficients, features_of(mention)) == pytest.approx(weight_of(mention))


def test_only_what_the_agent_writes_before_it_is_shown_counts_as_written_again() -> None:
    filler = [agent(f"Plain words and nothing else, part {number}. " * 40) for number in range(40)]
    messages = [
        user("Go on."),
        agent("Look at `load_config` and `write_config`."),
        *filler,
        *bash("cat app", "write_config"),
        agent("So `load_config` calls `write_config`."),
    ]
    outcomes = [written for _, written in examples_of(messages)]
    # Both names are before the cuts; one of them is shown again before the agent writes it.
    assert outcomes.count(True) == outcomes.count(False) > 0


def test_names_of_the_tail_are_no_examples() -> None:
    messages = [user("Go on."), *(agent(f"Look at `load_{number}`.") for number in range(30))]
    assert list(examples_of(messages)) == []


def test_coefficients_are_written_into_their_fields_and_into_no_other(tmp_path: Path) -> None:
    copy = tmp_path / "tuning.py"
    before = Path(tuning.__file__).read_text()
    copy.write_text(before)
    write(copy, {"said": "0.99"})
    assert copy.read_text() == before.replace(f"    said: float = {TUNING.said:.2f}\n", "    said: float = 0.99\n")
    with pytest.raises(SystemExit):
        write(copy, {"no_such_field": "1.00"})
