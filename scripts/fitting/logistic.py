"""Logistic regression of counted examples by Newton's method, and the quality of its predictions, in plain Python.

Rows are `(features, weight, share)`: `weight` of all examples with these features, `share` of them positive.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

Row = tuple[tuple[float, ...], float, float]
_ROUNDS = 30
_CLOSE = 1e-9
# A small ridge (in units of weight) keeps the coefficient of a feature without examples at 0 instead of undetermined.
_RIDGE = 1e-6
_BINS = 10


class Quality(Struct, frozen=True, kw_only=True):
    """The quality of predictions: `loss` is the mean log loss (nats), `constant` that of the mean rate alone, `auc`
    the chance that a positive example is ranked before a negative one, `calibration` the mean distance between
    predicted and observed rate over ten groups of equal weight, relative to the mean rate."""

    loss: float
    constant: float
    auc: float
    calibration: float


def predict(coefficients: Sequence[float], features: Sequence[float]) -> float:
    """Returns the probability. The first coefficient is the constant."""
    logit = coefficients[0] + sum(c * x for c, x in zip(coefficients[1:], features, strict=True))
    return 1 / (1 + math.exp(-logit))


def fit(rows: Sequence[Row]) -> list[float]:
    """Returns the coefficients of largest likelihood, the constant first."""
    size = len(rows[0][0]) + 1
    coefficients = [0.0] * size
    total = sum(weight for _, weight, _ in rows)
    for _ in range(_ROUNDS):
        gradient = [-_RIDGE * value for value in coefficients]
        curvature = [[_RIDGE * (i == j) for j in range(size)] for i in range(size)]
        for features, weight, share in rows:
            x = (1.0, *features)
            p = predict(coefficients, features)
            pull, bend = weight / total * (share - p), weight / total * p * (1 - p)
            for i in range(size):
                gradient[i] += pull * x[i]
                for j in range(i + 1):
                    curvature[i][j] += bend * x[i] * x[j]
        for i in range(size):
            for j in range(i):
                curvature[j][i] = curvature[i][j]
        step = _solve(curvature, gradient)
        coefficients = [value + change for value, change in zip(coefficients, step, strict=True)]
        if max(map(abs, step)) < _CLOSE:
            break
    return coefficients


def _solve(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> list[float]:
    """Solves the equations by Gaussian elimination with the largest pivot."""
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(size):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def judge(predicted: Sequence[tuple[float, float, float]]) -> Quality:
    """Returns the quality of predictions, each `(probability, weight, share of positives)`."""
    total = sum(weight for _, weight, _ in predicted)
    rate = sum(weight * share for _, weight, share in predicted) / total
    loss = sum(weight * _log_loss(p, share) for p, weight, share in predicted) / total
    return Quality(
        loss=loss, constant=_log_loss(rate, rate), auc=_auc(predicted), calibration=_calibration(predicted) / rate
    )


def _log_loss(p: float, share: float) -> float:
    p = min(max(p, 1e-12), 1 - 1e-12)
    return -share * math.log(p) - (1 - share) * math.log(1 - p)


def _auc(predicted: Sequence[tuple[float, float, float]]) -> float:
    """Returns the share of pairs of a positive and a negative in the right order. Ties count half."""
    by_score: dict[float, tuple[float, float]] = {}
    for p, weight, share in predicted:
        positive, negative = by_score.get(p, (0.0, 0.0))
        by_score[p] = positive + weight * share, negative + weight * (1 - share)
    below = pairs = 0.0
    for _, (positive, negative) in sorted(by_score.items()):
        pairs += positive * (below + negative / 2)
        below += negative
    positives = sum(positive for positive, _ in by_score.values())
    return pairs / (positives * below) if positives and below else 0.5


def _calibration(predicted: Sequence[tuple[float, float, float]]) -> float:
    ordered = sorted(predicted)
    total = sum(weight for _, weight, _ in ordered)
    gaps = [0.0] * _BINS
    done = 0.0
    for p, weight, share in ordered:
        gaps[min(_BINS - 1, int(_BINS * done / total))] += weight * (p - share)
        done += weight
    return sum(map(abs, gaps)) / total
