"""Recovery: whether intervals hold the truth as often as they say.

Small tables are drawn from the prior that is fitted, all of one shape, and fitted side by side in one program by
NumPyro's NUTS in plain non-centred coordinates. Intervals of 90% must hold the truth in 90% of the cases. Responses
are counts: a Beta score drawn next to 1 is rounded to it, and no fit can then recover what drew it.

``python -m bayes_irsl.studies.recovery`` writes one row per quantity.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr
from cyclopts import App
from numpyro import handlers
from numpyro.infer.hmc import hmc
from numpyro.infer.util import initialize_model

from bayes_irsl import encoding, reporting
from bayes_irsl.designs import observed
from bayes_irsl.engines.base import sampled, structure
from bayes_irsl.engines.centring import PartlyCentred, hierarchical
from bayes_irsl.fitting import double_precision
from bayes_irsl.simulation import Truth, simulate
from irsl_models import Model, likelihoods

QUANTITIES = ("ability", "difficulty", "log discrimination", "slope", "scatter")
PROB = 0.9
SHAPE = {"n_lms": 20, "n_items": 12, "n_benchmarks": 3, "n_groups": 2, "missing": 0.2, "trials": 50}
app = App(help=__doc__)


def study(
    n_sets: int, *, model: Model | None = None, warmup: int = 400, draws: int = 400, seed: int = 0
) -> pd.DataFrame:
    """Simulate, fit and count.

    Returns
    -------
    pandas.DataFrame
        ``quantity``, ``coverage`` of central 90% intervals, ``n`` intervals, ``error`` (standard error of the
        coverage, sets taken as independent and intervals of one set as they come), ``divergent`` (share of
        draws).
    """
    model = model or Model(likelihood=likelihoods.beta_binomial)
    truths = [simulate(model, **SHAPE, seed=seed + number) for number in range(n_sets)]  # type: ignore[arg-type]
    populations = [_population(truth) for truth in truths]
    with double_precision():
        designs = [
            observed(model, population, truth.responses.cells)
            for population, truth in zip(populations, truths, strict=True)
        ]
        values, diverging = _fit_all(model, designs, warmup, draws, seed)
    inside: dict[str, list[np.ndarray]] = {name: [] for name in QUANTITIES}
    for number, (truth, population) in enumerate(zip(truths, populations, strict=True)):
        drawn = {name: value[number][None] for name, value in values.items()}
        found = _with_logs(reporting.reported(drawn, population, float(truth.responses.lms["x"].std(ddof=0))))
        low, high = (found.quantile((1.0 + sign * PROB) / 2.0, ("chain", "draw")) for sign in (-1, 1))
        told = _with_logs(truth.values)
        for name in QUANTITIES:
            inside[name].append(np.ravel((low[name] <= told[name]) & (told[name] <= high[name])))
    return pd.DataFrame(
        [
            {
                "quantity": name,
                "coverage": np.concatenate(hits).mean(),
                "n": sum(len(hit) for hit in hits),
                "error": np.std([hit.mean() for hit in hits], ddof=1) / np.sqrt(n_sets),
                "divergent": diverging,
            }
            for name, hits in inside.items()
        ]
    )


def _population(truth: Truth) -> encoding.Population:
    table = truth.responses
    x = table.lms["x"].to_numpy(dtype=float)
    standard = (x - x.mean()) / x.std()
    return encoding.population(table.cells, table.lms, table.items, standard, ["group"])


def _with_logs(values: xr.Dataset) -> xr.Dataset:
    return values.assign({"log discrimination": np.log(values["discrimination"])})


def _fit_all(
    model: Model, designs: list[Any], warmup: int, draws: int, seed: int
) -> tuple[dict[str, np.ndarray], float]:
    """Draw from the posteriors of many tables of one shape at a time: values (set, draw, ...)."""
    sites = structure(model, designs[0])
    free = handlers.reparam(model, {name: PartlyCentred(np.zeros(())) for name in hierarchical(sites)})
    stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *designs)
    info = initialize_model(jax.random.key(seed), free, model_args=(designs[0],), dynamic_args=True)
    start, move = hmc(potential_fn_gen=info.potential_fn, algo="NUTS")
    wanted = (*sampled(model, designs[0]), *reporting.DERIVED)

    def one(design: Any, key: Any) -> tuple[dict[str, Any], Any]:
        place_key, run_key = jax.random.split(key)
        leaves, structure = jax.tree.flatten(info.param_info.z)
        keys = jax.random.split(place_key, len(leaves))
        z = [0.3 * jax.random.normal(k, jnp.shape(leaf)) for k, leaf in zip(keys, leaves, strict=True)]
        state = start(
            jax.tree.unflatten(structure, z),
            num_warmup=warmup,
            target_accept_prob=0.9,
            max_tree_depth=7,
            model_args=(design,),
            rng_key=run_key,
        )
        state = jax.lax.fori_loop(0, warmup, lambda _, now: move(now, (design,)), state)

        def keep(now: Any, _: None) -> tuple[Any, Any]:
            now = move(now, (design,))
            everything = info.postprocess_fn(design)(now.z)
            return now, ({name: everything[name] for name in wanted if name in everything}, now.diverging)

        return jax.lax.scan(keep, state, None, length=draws)[1]  # type: ignore[no-any-return]

    values, diverging = jax.jit(jax.vmap(one))(stacked, jax.random.split(jax.random.key(seed + 1), len(designs)))
    return {name: np.asarray(value) for name, value in values.items()}, float(diverging.mean())


@app.default
def main(
    out: Path = Path("recovery.csv"), *, sets: int = 240, warmup: int = 400, draws: int = 400, seed: int = 0
) -> None:
    """Run the study.

    Parameters
    ----------
    out : Path
        CSV file to write.
    sets : int
        Number of simulated tables.
    warmup, draws : int
        Steps of adaptation and draws for each of them.
    seed : int
        Seed of everything.
    """
    table = study(sets, warmup=warmup, draws=draws, seed=seed)
    table.to_csv(out, index=False, float_format="%.4f")
    sys.stdout.write(table.round(4).to_string(index=False) + "\n")


if __name__ == "__main__":
    app()
