"""The small version of the recovery study: intervals hold the truth about as often as they say."""

from __future__ import annotations

from bayes_irsl.studies.recovery import QUANTITIES, study


def test_intervals_cover_the_truth() -> None:
    table = study(20, warmup=150, draws=150, seed=1).set_index("quantity")
    assert list(table.index) == list(QUANTITIES)
    # 400 abilities and 240 difficulties of 20 tables: five standard errors of clustered coverage on either side.
    for name in ("ability", "difficulty", "log discrimination"):
        assert abs(table.loc[name, "coverage"] - 0.9) < 0.12, name
    # One slope and one scatter a table: 13 or fewer of 20 inside has probability 2e-3 under 90%.
    for name in ("slope", "scatter"):
        assert table.loc[name, "coverage"] >= 0.65, name
