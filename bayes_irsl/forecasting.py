"""Posterior predictive scores: of LMs not yet seen, and of cells not yet observed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl import encoding, seeds
from bayes_irsl.door.newcomers import name_faults
from bayes_irsl.door.sources import Table
from bayes_irsl.drawing import Cells
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.fitting import Fit
from bayes_irsl.numerals import Numerals, is_number_typed, plain_text
from bayes_irsl.scaling_values import UNITS
from bayes_irsl.wording import counted, listed
from irsl_models import trends

# A random walk so far beyond its data, in widths of them, says nothing and costs a step for each of its knots.
FARTHEST = 40
# Begins the name of the group of an LM without one; no name of a group begins with a blank.
_NO_GROUP = " new group of "


def forecast(
    fit: Fit,
    lms: pd.DataFrame,
    *,
    items: Sequence[str] | None = None,
    trials: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Draw scores of LMs that are not in the calibration table.

    Each new LM gets an ability around the trend at its x, with the deviation of its group if the fit knows the
    group, of a new group otherwise; then responses to every item.

    Parameters
    ----------
    fit : Fit
        What `fit` returned.
    lms : pandas.DataFrame
        One row for each new LM: ``lm``, the scaling variable under its own name (if the fit has one), and the
        group columns of the fit (a missing column, or a name the fit does not know, is a new group).
    items : sequence of str, optional
        Items to forecast; all of the fit by default.
    trials : int, optional
        Trials behind each response, for likelihoods of counts; by default the median of the item in the table.
    seed : int
        Seed of what is drawn.

    Returns
    -------
    xarray.Dataset
        Draws with dimensions (chain, draw, cell), cell being (lm, item). ``expected`` is E[score] under the
        model; ``score`` is what one evaluation will report, its noise included. Along cell: benchmark, x, and
        ``extrapolation``, the distance beyond the calibration data in units of x (decades, years, ...).
        ``attrs["notes"]`` says in words what lies beyond the data: values of x, and groups the fit does not know.
        Arrays of more than half a gigabyte lie in a temporary file, which goes when they go; its folder is that of the
        environment variable ``TMPDIR``. `summarise` reads them a part at a time.

    Raises
    ------
    InputError
        If a column is missing, an LM is already in the fit, or a value has no place on the axis.

    Examples
    --------
    >>> import bayes_irsl as bi, pandas as pd
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=6, seed=1)
    >>> fit = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
    >>> draws = bi.forecast(fit, pd.DataFrame({"lm": ["next"], "x": [1.5]}))
    >>> draws["score"].sizes["cell"], float(draws["extrapolation"][0])
    (6, 0.5)
    """
    return new_cells(fit, lms, items=items, trials=trials, seed=seed).draws()


def new_cells(
    fit: Fit,
    lms: pd.DataFrame,
    *,
    items: Sequence[str] | None = None,
    trials: int | None = None,
    seed: int = 0,
) -> Cells:
    """Check what a forecast is asked for, and leave it to the caller how it is drawn; parameters as in `forecast`."""
    _check(fit, lms, trials)
    seed = seeds.checked(seed)
    wanted = _items(fit, items)
    lms = lms.reset_index(drop=True).assign(lm=lms["lm"].map(plain_text).to_numpy())
    names = lms["lm"].tolist()
    newcomers = encoding.Newcomers(
        x=None if fit.axis is None else fit.axis.encode(lms[fit.axis.name]),
        groups={name: _groups(fit, lms, name) for name in fit.groups},
        count=len(lms),
    )
    cells = pd.DataFrame({"lm": np.repeat(names, len(wanted)), "item": np.tile(wanted, len(names))})
    notes = (*_far_out(fit, lms), *_unknown_groups(fit, lms, newcomers))
    return Cells(fit, _with_trials(fit, cells, trials), lms, newcomers, seed, notes)


def predict(fit: Fit, cells: pd.DataFrame | None = None, *, trials: int | None = None, seed: int = 0) -> xr.Dataset:
    """Draw scores of LMs that are in the calibration table, by default of every cell that was not observed.

    Parameters
    ----------
    fit : Fit
        What `fit` returned.
    cells : pandas.DataFrame, optional
        ``lm`` and ``item`` of the cells to draw.
    trials, seed : int
        As in `forecast`.

    Returns
    -------
    xarray.Dataset
        As from `forecast`, without notes.

    Raises
    ------
    InputError
        If an LM or item is not in the fit, or no cell is left to draw.

    Examples
    --------
    >>> import bayes_irsl as bi
    >>> model = bi.Model(likelihood=bi.likelihoods.beta)
    >>> truth = bi.simulate(model, n_lms=8, n_items=6, missing=0.2, seed=1)
    >>> fit = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
    >>> bi.predict(fit)["score"].sizes["cell"] + len(truth.responses.cells)
    48
    """
    return known_cells(fit, cells, trials=trials, seed=seed).draws()


def known_cells(fit: Fit, cells: pd.DataFrame | None = None, *, trials: int | None = None, seed: int = 0) -> Cells:
    """Check what a prediction is asked for, and leave it to the caller how it is drawn; parameters as in `predict`."""
    table = fit.responses
    seed = seeds.checked(seed)
    faults = _trials_fault(trials)
    if cells is not None:
        faults += [
            Fault("cells", "column", f"there is no column {name}", "Name the cells by lm and item")
            for name in ("lm", "item")
            if name not in cells
        ]
    if faults:
        raise InputError(*faults)
    if cells is None:
        everything = pd.MultiIndex.from_product([table.lms["lm"], table.items["item"]], names=["lm", "item"])
        cells = everything.difference(pd.MultiIndex.from_frame(table.cells[["lm", "item"]])).to_frame(index=False)
        if cells.empty:
            rule = "every cell of the table was observed"
            raise InputError(Fault("cells", "empty", rule, "Name the cells to draw"))
    if cells.empty:
        raise InputError(Fault("cells", "empty", "there is no row", "Name the cells to draw, or leave them out"))
    faults = [
        Fault(
            "cells",
            "id",
            f"the fit has no such {column}",
            f"Name one of the fit ({listed(sorted(table_ids))})",
            str(value),
        )
        for column, table_ids in (("lm", set(table.lms["lm"])), ("item", set(table.items["item"])))
        for value in pd.unique(cells[column])
        if value not in table_ids
    ]
    if faults:
        raise InputError(*faults)
    cells = _with_trials(fit, cells[["lm", "item"]].reset_index(drop=True), trials)
    return Cells(fit, cells, table.lms, None, seed)


def _with_trials(fit: Fit, cells: pd.DataFrame, trials: int | None) -> pd.DataFrame:
    """Give cells the trials that likelihoods of counts need."""
    if "trials" not in fit.responses.cells:
        return cells
    usual = fit.responses.cells.groupby("item")["trials"].median().round().astype(int)
    return cells.assign(trials=cells["item"].map(usual) if trials is None else trials)


def _check(fit: Fit, lms: pd.DataFrame, trials: int | None) -> None:
    if not isinstance(lms, pd.DataFrame):
        raise InputError(Fault("new LMs", "table", "they are not a DataFrame", "Give one row for each new LM"))
    needed = ["lm", *([] if fit.axis is None else [fit.axis.name])]
    faults = [
        Fault("new LMs", "column", f"there is no column {name}", f"Give {name} for each new LM")
        for name in needed
        if name not in lms
    ]
    faults += [
        Fault("new LMs", "column", "a column stands twice", "Give it once", str(name))
        for name in lms.columns[lms.columns.duplicated()].unique()
    ]
    if lms.empty:
        faults.append(Fault("new LMs", "empty", "there is no row", "Give one row for each new LM"))
    if len(fit.responses.lms) == 1:
        rule = "1 LM in the fit says nothing of how LMs differ"
        faults.append(Fault("fit", "design", rule, "Fit at least two LMs"))
    faults += _trials_fault(trials)
    if faults:
        raise InputError(*faults)
    table = Table("lms", "new LMs", lms.reset_index(drop=True), np.arange(len(lms)), "row")
    faults += name_faults(table, fit.responses.lms)
    if fit.axis is not None:
        wrong = fit.axis.missing_or_wrong(lms)
        faults += wrong if wrong else _beyond_reach(fit, lms)
    if faults:
        raise InputError(*faults)


def _trials_fault(trials: object) -> list[Fault]:
    if trials is None or (isinstance(trials, (int, np.integer)) and not isinstance(trials, bool) and trials > 0):
        return []
    return [Fault("option trials", "option", "trials are a whole number from 1 on", "Correct it", repr(trials))]


def _beyond_reach(fit: Fit, lms: pd.DataFrame) -> list[Fault]:
    """Refuse what a random walk would need thousands of steps for, and could say nothing of."""
    axis = fit.axis
    if axis is None or fit.model.trend is not trends.random_walk:
        return []
    far = axis.extrapolation(lms[axis.name]) > FARTHEST * (axis.high - axis.low)
    rule = f"random_walk reaches {FARTHEST} times as far beyond the data as they are wide"
    return [
        Fault("new LMs", "x", rule, "Ask for something nearer", plain_text(value), column=axis.name)
        for value in lms[axis.name].to_numpy(dtype=object)[far]
    ]


def _far_out(fit: Fit, lms: pd.DataFrame) -> list[str]:
    """Say how far new LMs lie beyond the calibration data, measured by the width of the data."""
    if fit.axis is None or not (beyond := fit.axis.extrapolation(lms[fit.axis.name])).any():
        return []
    unit = UNITS[fit.axis.how]
    who = f"{counted(int((beyond > 0).sum()), 'LM')} of {len(lms)}"
    note = f"beyond the calibration data: {who}, by up to {beyond.max():.3g} {unit} of {fit.axis.name}"
    width = fit.axis.high - fit.axis.low
    note += f"; the data span {width:.3g}"
    return [note + (": so far out the form of the trend decides" if beyond.max() > width else "")]


def _unknown_groups(fit: Fit, lms: pd.DataFrame, newcomers: encoding.Newcomers) -> list[str]:
    """Say which new LMs have a group that the fit does not know, or none."""
    notes = []
    for name in fit.groups:
        known, given = set(fit.population.groups[name]), newcomers.groups[name]
        unknown = sorted({group for group in given if group not in known and not group.startswith(_NO_GROUP)})
        if unknown:
            notes.append(f"{name} {listed(unknown)}: not in the fit, so drawn like any other group")
        without = [lm for lm, group in zip(lms["lm"], given, strict=True) if group.startswith(_NO_GROUP)]
        if without:
            notes.append(f"no {name} is given for {listed(without)}: each is a new group, drawn like any other")
    return notes


def _items(fit: Fit, items: Sequence[str] | None) -> list[str]:
    known: list[str] = fit.responses.items["item"].tolist()
    if items is None:
        return known
    wanted = [items] if isinstance(items, str) else list(dict.fromkeys(items))
    if not wanted:
        raise InputError(Fault("items", "empty", "no item is named", "Name items of the fit, or leave it out for all"))
    unknown = [name for name in wanted if name not in set(known)]
    if unknown:
        raise InputError(
            *(Fault("items", "id", "the fit has no such item", "Name items of the fit", name) for name in unknown)
        )
    return wanted


def _groups(fit: Fit, lms: pd.DataFrame, name: str) -> tuple[str, ...]:
    """Group of each new LM, written as the fit writes it; one without a group is a new group of its own."""
    if name not in lms:
        return tuple(_NO_GROUP + lm for lm in lms["lm"])
    numbers = is_number_typed(fit.responses.lms[name])
    found = []
    for lm, value in zip(lms["lm"], lms[name].astype(object), strict=True):
        text = plain_text(value)
        number = Numerals().read(text) if numbers and text else text
        found.append((plain_text(number) if isinstance(number, float) else text) or _NO_GROUP + lm)
    return tuple(found)
