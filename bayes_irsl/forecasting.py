"""Posterior predictive scores: of LMs not yet seen, and of cells not yet observed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl import encoding, prediction
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.fitting import Fit, double_precision, unseen
from bayes_irsl.scaling_values import UNITS
from bayes_irsl.wording import counted, listed


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
    _check(fit, lms)
    wanted = _items(fit, items)
    names = lms["lm"].astype(str).tolist()
    newcomers = encoding.Newcomers(
        x=None if fit.axis is None else fit.axis.encode(lms[fit.axis.name]),
        groups={name: _groups(fit, lms, name) for name in fit.groups},
        count=len(lms),
    )
    cells = pd.DataFrame({"lm": np.repeat(names, len(wanted)), "item": np.tile(wanted, len(names))})
    drawn = _draw(fit, cells, trials, seed, newcomers, lms.assign(lm=names))
    return drawn.assign_attrs(notes=[*_far_out(fit, lms), *_unknown_groups(fit, lms)])


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
        As from `forecast`.

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
    table = fit.responses
    if cells is None:
        everything = pd.MultiIndex.from_product([table.lms["lm"], table.items["item"]], names=["lm", "item"])
        cells = everything.difference(pd.MultiIndex.from_frame(table.cells[["lm", "item"]])).to_frame(index=False)
    faults = [
        Fault("cells", "id", f"the fit has no such {column}", f"Known are {len(table_ids)} of them", str(value))
        for column, table_ids in (("lm", set(table.lms["lm"])), ("item", set(table.items["item"])))
        for value in pd.unique(cells[column])
        if value not in table_ids
    ]
    if faults:
        raise InputError(*faults)
    if cells.empty:
        raise InputError(Fault("cells", "empty", "every cell of the table was observed", "Name the cells to draw"))
    return _draw(fit, cells[["lm", "item"]].reset_index(drop=True), trials, seed, None, table.lms)


def _draw(
    fit: Fit,
    cells: pd.DataFrame,
    trials: int | None,
    seed: int,
    newcomers: encoding.Newcomers | None,
    lms: pd.DataFrame,
) -> xr.Dataset:
    """Draw cells, counts turned into shares, and say where they lie."""
    if "trials" in fit.responses.cells:
        usual = fit.responses.cells.groupby("item")["trials"].median().round().astype(int)
        cells = cells.assign(trials=cells["item"].map(usual) if trials is None else trials)
    with double_precision():
        names = lms["lm"].tolist() if newcomers else []
        design = unseen(fit.population, cells, newcomers, names)
        drawn = prediction.evaluate(fit.model, design, fit.sites, ("score", "successes", "expected"), seed)
    total = cells["trials"].to_numpy() if "successes" in drawn and "trials" in cells else 1.0
    score = drawn["successes" if "successes" in drawn else "score"] / total
    dims = ("chain", "draw", "cell")
    where: dict[str, tuple[str, np.ndarray]] = {
        "benchmark": ("cell", fit.responses.items.set_index("item")["benchmark"][cells["item"]].to_numpy()),
        "extrapolation": ("cell", np.zeros(len(cells))),
    }
    if fit.axis is not None:
        x = lms.set_index("lm")[fit.axis.name][cells["lm"]].to_numpy()
        where[fit.axis.name] = ("cell", x)
        where["extrapolation"] = ("cell", fit.axis.extrapolation(x))
    return xr.Dataset(
        {"score": (dims, score), "expected": (dims, drawn["expected"] / total)},
        coords={"lm": ("cell", cells["lm"].to_numpy()), "item": ("cell", cells["item"].to_numpy()), **where},
    ).set_index(cell=["lm", "item"])


def _check(fit: Fit, lms: pd.DataFrame) -> None:
    faults: list[Fault] = []
    if "lm" not in lms:
        raise InputError(Fault("new LMs", "column", "there is no column lm", "Name each new LM in a column lm"))
    if lms.empty:
        raise InputError(Fault("new LMs", "empty", "there is no row", "Give one row for each new LM"))
    names = lms["lm"].astype(str)
    faults += [
        Fault("new LMs", "id", "an LM stands in two rows", "Give each a name of its own", name)
        for name in pd.unique(names[names.duplicated()])
    ]
    for name in sorted(set(names) & set(fit.responses.lms["lm"])):
        way_out = "Use predict for LMs of the fit, or give the new one another name"
        faults.append(Fault("new LMs", "id", "this LM is in the fit", way_out, name))
    if len(fit.responses.lms) == 1:
        rule = "1 LM in the fit says nothing of how LMs differ"
        faults.append(Fault("fit", "design", rule, "Fit at least two LMs"))
    if fit.axis is not None and fit.axis.name not in lms:
        rule = f"there is no column {fit.axis.name}, the scaling variable of the fit"
        faults.append(Fault("new LMs", "column", rule, f"Give {fit.axis.name} for each new LM"))
    elif fit.axis is not None:
        faults += fit.axis.missing_or_wrong(lms)
    if faults:
        raise InputError(*faults)


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


def _unknown_groups(fit: Fit, lms: pd.DataFrame) -> list[str]:
    notes = []
    for name in fit.groups:
        if name in lms:
            given = lms[name].dropna().astype(str)
            unknown = sorted(set(given) - set(fit.responses.lms[name].astype(str)) - {""})
            if unknown:
                rule = "the fit does not know it: a new group, its deviation drawn like that of any other"
                notes.append(f"{name} {listed(unknown)}: {rule}")
    return notes


def _items(fit: Fit, items: Sequence[str] | None) -> list[str]:
    known: list[str] = fit.responses.items["item"].tolist()
    if items is None:
        return known
    unknown = [name for name in items if name not in set(known)]
    if unknown:
        raise InputError(
            *(Fault("items", "id", "the fit has no such item", "Name items of the fit", name) for name in unknown)
        )
    return list(items)


def _groups(fit: Fit, lms: pd.DataFrame, name: str) -> tuple[str, ...]:
    """Group of each new LM; one without a group is a new group of its own."""
    if name not in lms:
        return tuple(f"new: {lm}" for lm in lms["lm"])
    given = lms[name]
    return tuple(
        f"new: {lm}" if pd.isna(group) or group == "" else str(group)
        for lm, group in zip(lms["lm"], given, strict=True)
    )
