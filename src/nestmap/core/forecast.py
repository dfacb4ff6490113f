"""The time left of a fit: predicted costs, corrected by the measured time of finished stages."""

from __future__ import annotations

from collections.abc import Mapping

# the measured speed has half of the weight after so many seconds, plus this share of the whole
# prediction
_PRIOR_SECONDS = 0.5
_PRIOR_SHARE = 0.05
# limits of the ratio of measured to predicted seconds that is carried over to later stages
_MIN_RATIO = 0.33
_MAX_RATIO = 3.0
# exponent of that ratio: a stage is slow on a slow machine, or on data that are hard there only
_DAMPING = 0.6
_TRUST = 3.0  # weight of a stage's own rate per share done: it counts alone from a third on
_SMOOTHING_SECONDS = 3.0  # half-life of an estimate beside a new one


def kind_of(stage: str) -> str:
    """Which of the predicted costs a stage belongs to.

    Examples
    --------
    >>> stages = ("level 0: first neighbours of 9 rows", "level 2: centroids", "islands: 9 rows")
    >>> [kind_of(stage) for stage in stages]
    ['neighbours', 'upper levels', 'rows']
    >>> stages = ("neighbours of 9 rows", "islands: neighbours of 9 rows", "communities of 4 nodes")
    >>> [kind_of(stage) for stage in stages]
    ['graph', 'island graph', 'communities']
    """
    if stage.startswith("level 0"):
        return "neighbours" if "first" in stage else "centroids"
    if stage.startswith("level"):
        return "upper levels"
    if "neighbours of" in stage:
        return "island graph" if stage.startswith("islands") else "graph"
    if stage.startswith("islands"):
        return "rows" if stage.endswith("rows") else "nodes"
    return stage.split()[0].rstrip(":")


class Forecast:
    """Estimates the seconds left of a fit while it runs.

    Parameters
    ----------
    costs : dict of kind to seconds
        In the order of the stages.
    """

    def __init__(self, costs: Mapping[str, float]) -> None:
        self.costs = {kind: max(0.0, float(cost)) for kind, cost in costs.items()}
        self.kind = ""
        self.spent = 0.0  # in earlier stages of the same kind
        self.began = 0.0  # the stage
        # of kinds that have ended: seconds, and what was predicted
        self.passed = 0.0
        self.predicted = 0.0
        self.shown: tuple[float, float] | None = None  # an estimate, and when it was made

    def begin(self, stage: str, now: float) -> None:
        """A stage starts, and with that the one before has ended."""
        kind = kind_of(stage)
        here = self.spent + (now - self.began if self.kind else 0.0)
        if kind == self.kind:
            self.spent = here
        else:
            if self.kind in self.costs:
                self.passed = self.passed + here
                self.predicted = self.predicted + self.costs[self.kind]
            self.kind = kind
            self.spent = 0.0
        self.began = now

    def left(self, share: float, stage_left: float | None, now: float) -> float | None:
        """Seconds left of the fit; the running stage is at `share` and has `stage_left` to go."""
        kinds = [*self.costs]
        if self.kind not in kinds:
            return None
        later = sum(self.costs[kind] for kind in kinds[kinds.index(self.kind) + 1 :])
        prior = _PRIOR_SECONDS + _PRIOR_SHARE * sum(self.costs.values())
        here = self.spent + now - self.began
        cost = self.costs[self.kind]
        # a stage that is already slower than predicted counts before it ends
        known = share * cost if here > share * cost else 0.0
        ratio = (self.passed + (here if known else 0.0) + prior) / (self.predicted + known + prior)
        speed = min(max(ratio**_DAMPING, _MIN_RATIO), _MAX_RATIO)
        expected = max(speed * cost - here, 0.0)
        trust = 0.0 if stage_left is None else min(1.0, _TRUST * share)
        rest = trust * (stage_left or 0.0) + (1 - trust) * expected
        return self._steady(rest + speed * later, now)

    def _steady(self, estimate: float, now: float) -> float:
        """Exponential smoothing of the estimates over time."""
        if self.shown is not None:
            before, when = self.shown
            old = max(before - (now - when), 0.0)
            weight = 0.5 ** ((now - when) / _SMOOTHING_SECONDS)
            estimate = weight * old + (1 - weight) * estimate
        self.shown = (estimate, now)
        return estimate
