"""Figures: what is drawn is what the tables say."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection, PathCollection

from bayes_irsl.covariates import Axis
from bayes_irsl.errors import InputError
from bayes_irsl.fitting import Fit
from bayes_irsl.plots import choosing, labels, scales
from bayes_irsl.plots.ability_chart import abilities
from bayes_irsl.plots.catalogue import FIGURES
from bayes_irsl.plots.item_curves import curves, expected_at
from bayes_irsl.plots.score_panels import along_axis, scores
from bayes_irsl.summaries import summarise

DATES = Axis("date", "date", centre=2024.0, unit=0.5, low=2023.0, high=2025.0, n_values=9)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def drawn_points(ax: Axes) -> list[np.ndarray]:
    return [np.asarray(found.get_offsets()) for found in ax.collections if isinstance(found, PathCollection)]


def bands(ax: Axes) -> list[np.ndarray]:
    return [
        np.asarray(found.get_paths()[0].vertices)
        for found in ax.collections
        if isinstance(found, FillBetweenPolyCollection)
    ]


def test_scores_draw_the_band_of_the_summary(fit: Fit) -> None:
    figure = scores(fit, ["item-01"], seed=3)
    assert fit.axis is not None
    at = scales.steps(fit.axis, 0.25, 30)
    draws = along_axis(fit, ["item-01"], "item", at, {}, 3)
    table = summarise(draws, prob=0.9)
    inside = table[table["extrapolation"] < 1e-9]
    vertices = bands(figure.axes[0])[0]
    assert vertices[:, 0].max() == pytest.approx(fit.axis.high)
    assert set(inside["lower"].round(9)) | set(inside["upper"].round(9)) == set(vertices[:, 1].round(9))
    expected = summarise(draws, kind="expected", prob=0.9)
    line = figure.axes[0].lines[0]
    np.testing.assert_allclose(np.asarray(line.get_ydata()), expected.loc[expected["extrapolation"] < 1e-9, "mean"])


def test_scores_go_beyond_the_data_and_mark_where(fit: Fit) -> None:
    ax = scores(fit, ["item-01"], beyond=0.5).axes[0]
    assert fit.axis is not None
    low, high = fit.axis.low, fit.axis.high
    vertices = bands(ax)
    assert max(part[:, 0].max() for part in vertices) == pytest.approx(high + 0.5 * (high - low))
    inside, outside = (found for found in ax.collections[:2])
    assert float(outside.get_alpha() or 0) < float(inside.get_alpha() or 0)
    assert any(np.array_equal(np.asarray(line.get_xdata()), [high, high]) for line in ax.lines)


def test_scores_show_every_observation_and_the_held_out_ones(fit: Fit) -> None:
    held = pd.DataFrame({"lm": ["later"], "item": ["item-02"], "score": [0.7], "x": [1.2]})
    figure = scores(fit, ["item-02"], held=held)
    observed, later = drawn_points(figure.axes[0])
    cells = fit.responses.cells
    np.testing.assert_allclose(observed[:, 1], cells.loc[cells["item"] == "item-02", "score"])
    np.testing.assert_allclose(later, [[1.2, 0.7]])
    assert [text.get_text() for text in figure.legends[0].texts][:2] == ["observed", "held out"]


def test_scores_of_benchmarks_are_means_over_their_items(fit: Fit) -> None:
    ax = scores(fit, ["benchmark-1"], by="benchmark").axes[0]
    items = fit.responses.items
    inside = fit.responses.cells["item"].isin(items.loc[items["benchmark"] == "benchmark-1", "item"])
    groups = fit.responses.cells[inside].groupby("lm")["score"]
    # An LM that answered only some of the items has no point: its mean would be of other items.
    means = groups.mean()[groups.size() == 4]
    assert 0 < len(means) < 24
    np.testing.assert_allclose(drawn_points(ax)[0][:, 1], means)


def test_scores_of_a_known_group_are_its_own(fit: Fit) -> None:
    at = np.array([0.0])
    names = sorted(set(fit.population.groups["group"]))
    means = [
        summarise(along_axis(fit, ["item-00"], "item", at, {"group": name}, 0), kind="expected")["mean"].item()
        for name in names
    ]
    effect = fit.posterior["group_group"].mean(("chain", "draw")).to_numpy()
    assert np.argmax(means) == np.argmax(effect)


def test_a_figure_of_unknown_items_says_so(fit: Fit) -> None:
    with pytest.raises(InputError, match="no such item"):
        curves(fit, ["nothing"])
    with pytest.raises(InputError, match="no scaling variable"):
        scores(replace(fit, axis=None))


def test_abilities_are_those_of_the_posterior(fit: Fit) -> None:
    ax = abilities(fit)
    points = np.concatenate(drawn_points(ax))
    mean = fit.posterior["ability"].mean(("chain", "draw")).to_numpy()
    order = np.argsort(points[:, 0])
    np.testing.assert_allclose(points[order, 0], fit.responses.lms["x"])
    np.testing.assert_allclose(points[order, 1], mean)
    trend = fit.posterior["trend"].quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
    assert set(trend.ravel().round(9)) == set(bands(ax)[0][:, 1].round(9))
    named = [text.get_text() for text in ax.texts]
    best = fit.responses.lms["lm"].to_numpy()[np.argsort(-mean)[:3]]
    assert set(best) <= set(named)
    assert {"group-0", "group-1"} <= set(named)
    assert ax.get_xlabel() == "x"


def test_abilities_without_a_scaling_variable_are_a_list(fit: Fit) -> None:
    ax = abilities(replace(fit, axis=None))
    mean = fit.posterior["ability"].mean(("chain", "draw")).to_series().sort_values()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(mean.index)
    np.testing.assert_allclose(drawn_points(ax)[0][:, 0], mean)


def test_curves_are_those_of_the_items(fit: Fit) -> None:
    posterior = fit.posterior
    grid = np.array([-1.0, 0.0, 2.0])
    drawn = expected_at(fit, grid, ["item-03"])
    item = posterior[["difficulty", "discrimination"]].sel(item="item-03")
    logit = item["discrimination"].to_numpy()[..., None] * (grid - item["difficulty"].to_numpy()[..., None])
    # Draws are thinned there, and no draw of a curve falls outside all of these.
    by_hand = (1.0 / (1.0 + np.exp(-logit))).reshape(-1, 3)
    np.testing.assert_allclose(drawn[..., 0].mean(0), by_hand.mean(0), atol=0.01)
    assert all(np.isclose(by_hand, row, rtol=1e-6).all(1).any() for row in drawn[:20, :, 0])


def test_curves_are_named_at_their_ends_and_abilities_are_ticks(fit: Fit) -> None:
    ax = curves(fit, ["item-03", "item-04"])
    assert [text.get_text() for text in ax.texts] == ["item-03", "item-04"]
    assert len(bands(ax)) == 2
    assert len(ax.collections[-1].get_paths()) == len(fit.responses.lms)


def test_every_figure_of_the_catalogue_is_a_figure(fit: Fit) -> None:
    assert list(FIGURES) == ["abilities", "curves", "scores"]
    for draw in FIGURES.values():
        figure = draw(fit)
        figure.canvas.draw()
        assert figure.axes
    # The last of them has a panel for each of the six items with the most responses.
    counts = fit.responses.cells["item"].value_counts()
    shown = counts[[ax.get_title(loc="left") for ax in figure.axes]]
    assert shown.tolist() == counts.iloc[:6].tolist()


def test_items_with_most_responses_come_first(fit: Fit) -> None:
    few = fit.responses.cells.drop(fit.responses.cells.query("item == 'item-00'").index[:5])
    fewer = replace(fit, responses=replace(fit.responses, cells=few))
    assert choosing.most_answered(fewer, "item", 12)[-1] == "item-00"
    assert choosing.most_answered(fit, "benchmark", 1) == ["benchmark-0"]


def test_dates_stay_dates() -> None:
    at = scales.steps(DATES, 0.5, 3)
    assert scales.as_column(at) == ["2023-01-01", "2024-07-02", "2024-12-31", "2025-12-31"]
    ax = plt.figure().subplots()
    ax.plot(scales.place(DATES, ["2023-05-01", "2024-05-01"]), [0.0, 1.0])
    scales.dress(ax, DATES)
    # Matplotlib counts days since 1970, as NumPy does.
    assert np.asarray(ax.lines[0].get_xdata(orig=False))[1] == np.datetime64("2024-05-01").astype(int)
    assert scales.label(DATES) == "release date"


def test_logarithmic_axes_have_powers_of_ten() -> None:
    axis = Axis("flops", "log10", centre=21.0, unit=1.0, low=19.0, high=24.0, n_values=9)
    ax = plt.figure().subplots()
    ax.plot(scales.place(axis, [1e19, 1e24]), [0.0, 1.0])
    scales.dress(ax, axis)
    assert ax.get_xscale() == "log"
    assert all(np.log10(tick) % 1 == pytest.approx(0) for tick in ax.get_xticks())
    assert scales.label(axis) == "training compute (FLOP)"


def test_labels_move_apart_and_keep_their_order() -> None:
    placed = labels.apart([0.5, 0.1, 0.52, 0.51], 0.1)
    assert placed == pytest.approx([0.41, 0.1, 0.61, 0.51])
