"""Fit a model to responses: choose what was left open, run an engine, keep everything a report needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
import xarray as xr

from bayes_irsl import encoding, prediction, reporting, seeds
from bayes_irsl.checkpoints import SECONDS_BETWEEN, begin_or_resume
from bayes_irsl.choices import choose_engine, choose_likelihood
from bayes_irsl.covariates import FEWEST_VALUES_FOR_CURVE, Axis, MissingX, fit_axis, parse_axis
from bayes_irsl.designs import observed
from bayes_irsl.door.design_rules import design_notes
from bayes_irsl.engines.base import Draws, Engine, settings, structure
from bayes_irsl.engines.running import Running
from bayes_irsl.errors import Fault, InputError, gathered
from bayes_irsl.identity import DECIDING, describe
from bayes_irsl.progress import Progress, Watcher, watching
from bayes_irsl.responses import Responses, type_faults
from bayes_irsl.wording import counted, listed
from irsl_models import Design, Model, curves, effects, likelihoods, trends

# Names of dimensions in results, and "scale", which would be the site of the scale of groups; "/" is a path there.
RESERVED_GROUPS = frozenset({"chain", "draw", "lm", "item", "benchmark", "grouping", "scale"})
# Columns and dimensions of forecasts beside the scaling variable.
RESERVED_COVARIATES = frozenset(
    {
        *("cell", "chain", "draw", "lm", "item", "benchmark", "kind", "score", "expected", "value"),
        *("mean", "sd", "lower", "upper", "prob", "extrapolation"),
    }
)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model: posterior draws with all that is needed to forecast, save and check.

    Parameters
    ----------
    model : Model
        The model, likelihood chosen.
    responses : Responses
        The calibration table.
    axis : Axis or None
        The scaling variable: its name, scale, centre and unit.
    groups : tuple of str
        Columns of the LM table that group LMs.
    tree : xarray.DataTree
        ``posterior`` holds reported quantities (`reporting.RULE`), ``sites`` the draws as the model has them,
        ``sample_stats`` what the sampler recorded. ArviZ reads it as it is.
    """

    model: Model
    responses: Responses
    axis: Axis | None
    groups: tuple[str, ...]
    tree: xr.DataTree

    @property
    def posterior(self) -> xr.Dataset:
        """Draws of the reported quantities, dimensions (chain, draw, ...)."""
        return self.tree["posterior"].to_dataset()

    @property
    def sites(self) -> dict[str, np.ndarray]:
        """Draws of every site of the model, as `prediction.evaluate` takes them."""
        return {str(name): value.to_numpy() for name, value in self.tree["sites"].data_vars.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen and found on the way from the table to the draws."""
        return tuple(self.tree.attrs["notes"])

    def thinned(self, draws: int) -> Fit:
        """Keep so many draws at most (one of each chain at least), as far apart as possible.

        Parameters
        ----------
        draws : int
            Number over all chains: 1,000 place the ends of a 90% interval to a hundredth of its probability.

        Returns
        -------
        Fit
            The same fit with fewer draws.

        Examples
        --------
        >>> import bayes_irsl as bi
        >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=6, seed=1)
        >>> found = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
        >>> found.thinned(10).posterior.sizes["draw"]
        10
        """
        sizes = self.posterior.sizes
        per_chain = min(sizes["draw"], max(1, draws // sizes["chain"]))
        kept = np.linspace(0, sizes["draw"] - 1, per_chain).astype(int)
        parts = {name: part.to_dataset().isel(draw=kept, missing_dims="ignore") for name, part in self.tree.items()}
        tree = xr.DataTree.from_dict(parts)
        tree.attrs = self.tree.attrs
        return replace(self, tree=tree)

    @cached_property
    def population(self) -> encoding.Population:
        """Names and codes of the calibration table."""
        table = self.responses
        x = None if self.axis is None else self.axis.encode(table.lms[self.axis.name])
        return encoding.population(table.cells, table.lms, table.items, x, self.groups)


def fit(
    model: Model,
    responses: Responses,
    engine: Engine | None = None,
    *,
    x: str | None = None,
    group: str | Sequence[str] = (),
    missing_x: MissingX = "error",
    seed: int = 0,
    progress: bool | Watcher = False,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = SECONDS_BETWEEN,
    resume: bool = False,
    notes: Sequence[str] = (),
) -> Fit:
    """Fit a model to responses.

    Parameters
    ----------
    model : Model
        What explains the responses. Without a likelihood the data choose one, and a note says which and why.
        Without `x` the trend is `trends.none`, whatever the model says.
    responses : Responses
        The table, from `read_responses`.
    engine : Engine, optional
        How to get to the posterior: `HMC(...)`, `NUTS(...)`, `Laplace(...)` or `SVI(...)`; chosen by the table, and
        noted, if not given.
    x : str, optional
        Scaling variable, ``NAME`` or ``NAME:log10|linear|date``: a column of the LM table.
    group : str or sequence of str
        Columns of the LM table whose values are groups: LMs of one group share a deviation.
    missing_x : {"error", "no-trend", "drop"}
        What becomes of LMs without x.
    seed : int
        Same seed, same result, on one machine; from 0 to 2^63 - 1.
    progress : bool or callable
        Show a line on standard error that says how far the run is; a callable gets every `Progress` instead.
    checkpoint : str or Path, optional
        Folder that keeps the run, from the warm-up on, so that it can go on after a kill or Ctrl-C. It stays when the
        fit is done: delete it once the fit is saved.
    checkpoint_every : float
        Seconds between two checkpoints, at least.
    resume : bool
        Go on with the run in the folder, if there is one; its draws are then, to the last bit, those of a run that was
        never stopped, on the same machine. Without it a run that lies there is an error, so that none is lost.
        Functions of your own in the model are known by their names: what is in them must not change in between.
    notes : sequence of str
        How the model came about, kept before what is noted here.

    Returns
    -------
    Fit
        Draws in float64, whatever JAX is set to otherwise.

    Raises
    ------
    InputError
        If table, design and model do not fit together, or the folder keeps another run; the message says where and
        what to do.
    KeyboardInterrupt
        At Ctrl-C, within seconds: once the steps under way are done and kept.

    Examples
    --------
    >>> import bayes_irsl as bi
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=6, seed=1)
    >>> found = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
    >>> found.posterior["ability"].sizes["lm"], found.model.likelihood.__name__
    (8, 'beta')
    """
    faults = [*_model_fault(model), *type_faults(responses), *_engine_fault(engine)]
    if resume and checkpoint is None:
        rule = "there is no folder from which the run could go on"
        faults.append(Fault("option resume", "option", rule, 'Name it, such as checkpoint="run"'))
    if faults:
        raise InputError(*faults)
    seed = seeds.checked(seed)
    groups = (group,) if isinstance(group, str) else tuple(group)
    _, (model, axis, encoded, responses, trend_notes) = gathered(
        lambda: _check_groups(responses, groups), lambda: _scaled(model, responses, x, missing_x)
    )
    model, likelihood_note = _with_likelihood(model, responses)
    engine, engine_note = (engine, "") if engine is not None else choose_engine(responses, model.likelihood)
    population = encoding.population(responses.cells, responses.lms, responses.items, encoded, groups)
    _check_one_lm(model, population)
    with double_precision(), watching(progress) as watch:
        design = observed(model, population, responses.cells)
        kept = None
        if checkpoint is not None:
            described = describe(model, responses, axis, groups, engine, seed)
            kept = begin_or_resume(Path(checkpoint), described, checkpoint_every, resume=resume)
        draws = engine.run(model, design, seed, Running(watch, kept))
        watch(Progress("reading off the posterior"))
        derived = prediction.evaluate(model, design, draws.sites, reporting.DERIVED, seed)
        model_notes = _model_notes(model, design)
    found = (
        *notes,
        *responses.notes,
        *trend_notes,
        likelihood_note,
        engine_note,
        *model_notes,
        *design_notes(responses),
        *draws.notes,
    )
    tree = _tree(draws, {**draws.sites, **derived}, population, axis)
    tree.attrs |= {
        "notes": [note for note in found if note],
        "rule": reporting.RULE,
        "engine": engine.name,
        "settings": settings(engine),
        "seed": seed,
        "data_hash": responses.hash(),
        "versions": [f"{name} {version(name)}" for name in DECIDING],
    }
    return Fit(model, responses, axis, groups, tree)


@contextmanager
def double_precision() -> Iterator[None]:
    """Run JAX in float64 here, and leave its setting alone elsewhere."""
    with jax.enable_x64(True):
        yield


def _model_fault(model: object) -> Iterator[Fault]:
    if not isinstance(model, Model):
        way_out = "Give the model first and the responses second: fit(Model(), responses)"
        yield Fault("option model", "option", "it is not a model", way_out, type(model).__name__)


def _engine_fault(engine: object) -> Iterator[Fault]:
    if engine is not None and (isinstance(engine, type) or not hasattr(engine, "run")):
        way_out = "Give its settings, such as NUTS(draws=500)"
        yield Fault("option engine", "option", "it is not an engine", way_out, repr(engine))


def _check_groups(responses: Responses, groups: Sequence[str]) -> None:
    faults = []
    for name in groups:
        if name not in responses.lms or name == "lm":
            known = ", ".join(column for column in responses.lms if column != "lm") or "none"
            faults.append(
                Fault("option group", "option", "the LM table has no such column", f"Known are {known}", name)
            )
            continue
        if name in RESERVED_GROUPS or "/" in name:
            way_out = "Give the column of the LM table another name"
            faults.append(Fault("option group", "option", "the name has another meaning in results", way_out, name))
            continue
        blank = responses.lms.loc[responses.lms[name].isna() | (responses.lms[name].astype(str) == ""), "lm"]
        if len(blank):
            have = "has" if len(blank) == 1 else "have"
            rule = f"{counted(len(blank), 'LM')} {have} no {name}"
            where = responses.places.get(blank.iloc[0], "LMs")
            way_out = "Name a group for each of them"
            faults.append(Fault(where, "no group", rule, way_out, listed(blank.tolist(), 20), column=name))
    if faults:
        raise InputError(*faults)


def _scaled(
    model: Model, responses: Responses, x: str | None, missing_x: MissingX
) -> tuple[Model, Axis | None, np.ndarray | None, Responses, tuple[str, ...]]:
    """Settle trend and scaling variable, which need one another."""
    if x is None:
        if model.trend is trends.none:
            return model, None, None, responses, ()
        note = f"no scaling variable: trend none instead of {model.trend.__name__}"
        return replace(model, trend=trends.none), None, None, responses, (note,)
    if parse_axis(x)[0] in RESERVED_COVARIATES:
        rule, way_out = "the name has another meaning in results", "Give the column another name (--columns NEW=OLD)"
        raise InputError(Fault("option x", "option", rule, way_out, x))
    axis, encoded, responses = fit_axis(responses, x, missing_x)
    if model.trend in (trends.power, trends.random_walk) and axis.is_short:
        rule = f"trend {model.trend.__name__} needs {FEWEST_VALUES_FOR_CURVE} different values of {axis.name}"
        raise InputError(Fault("option trend", "option", rule, "Take trend linear", f"{axis.n_values} values"))
    notes = (axis.describe(),) if axis.is_short and model.trend is not trends.none else ()
    return model, axis, encoded, responses, notes


def _with_likelihood(model: Model, responses: Responses) -> tuple[Model, str]:
    """Choose a likelihood from the data where the model has none."""
    if responses.kind == "mixed":
        raise InputError(
            Fault("responses", "score", "some items have counts and others scores", "Fit them apart", "mixed")
        )
    if model.likelihood is not None:
        return model, ""
    chosen, note = choose_likelihood(responses)
    return replace(model, likelihood=chosen), note


def _check_one_lm(model: Model, population: encoding.Population) -> None:
    """Refuse what one LM cannot tell: with one answer an item, every discrimination is its prior."""
    if len(population.lms) == 1 and "discrimination" in model.curve.parts and model.curve is not curves.one_pl:
        rule = "1 LM: each item has one answer, so its discrimination is nothing but its prior"
        raise InputError(Fault("option curve", "option", rule, "Take curve 1pl"))


def _model_notes(model: Model, design: Design) -> list[str]:
    """Say where the data leave a part of the model to its prior."""
    sites = structure(model, design)
    notes = [f"prior {name}: this table leaves the model without it" for name in model.priors if name not in sites]
    if effects.deviation in model.departures and design.n_eligible < 2:
        notes.append(
            "no benchmark deviation: it needs two benchmarks with at least "
            f"{encoding.FEWEST_ITEMS_FOR_DEVIATION} items, and the table has {design.n_eligible}"
        )
    if model.likelihood is likelihoods.ordered_beta and design.score is not None:
        for value, cut in ((0.0, "low"), (1.0, "high")):
            if not (design.score == value).any():
                notes.append(f"no score is exactly {value:.0f}: the {cut} cutpoint of ordered_beta keeps its prior")
    return notes


def _tree(
    draws: Draws, values: dict[str, np.ndarray], population: encoding.Population, axis: Axis | None
) -> xr.DataTree:
    sites = xr.Dataset(
        {
            name: (("chain", "draw", *(f"{name}_{place}" for place in range(value.ndim - 2))), value)
            for name, value in sorted(draws.sites.items())
        }
    )
    stats = xr.Dataset({name: (("chain", "draw"), value) for name, value in draws.stats.items()})
    unit = 1.0 if axis is None else axis.unit
    return xr.DataTree.from_dict(
        {
            "posterior": reporting.reported(values, population, unit),
            "sites": sites,
            "sample_stats": stats,
        }
    )
