"""Small designs for tests of models, and one compiled function for the log density at many points."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import potential_energy

from bayes_irsl import encoding
from bayes_irsl.engines.base import structure as structure
from irsl_models import Design, Model

# Beyond three standard deviations, equal values, and one LM without x.
X = np.array([-3.5, -1.0, 0.0, 0.0, 1.0, 3.5, np.nan])


def population(
    x: np.ndarray | None = X, n_items: int = 7, n_benchmarks: int = 2, chance: float = 0.25, n_lms: int = 7
) -> encoding.Population:
    """LMs in two groups, items evenly in benchmarks; every LM answers every item."""
    count = n_lms if x is None else len(x)
    lms = pd.DataFrame({"lm": [f"lm{i}" for i in range(count)], "group": [f"group{i % 2}" for i in range(count)]})
    items = pd.DataFrame({"item": [f"item{j}" for j in range(n_items)], "chance": chance})
    items["benchmark"] = [f"benchmark{j * n_benchmarks // n_items}" for j in range(n_items)]
    cells = lms[["lm"]].merge(items[["item"]], how="cross")
    return encoding.population(cells, lms, items, x, ["group"])


def design(people: encoding.Population, **options: Any) -> Design:
    """All cells of a population."""
    count = len(people.lms) + (options["newcomers"].count if options.get("newcomers") else 0)
    lm, item = np.divmod(np.arange(count * len(people.items)), len(people.items))
    return encoding.design(people, lm, item, **options)


def as_float32(table: Design) -> Design:
    """Convert the covariates and responses of a design."""

    def convert(array: np.ndarray) -> np.ndarray:
        return array.astype(np.float32) if array.dtype == np.float64 else array

    converted: Design = jax.tree.map(convert, table)
    return converted


def sampled(model: Model, table: Design) -> dict[str, Any]:
    """Sites that the model samples and does not observe."""
    sites = structure(model, table).items()
    return {name: site for name, site in sites if site["type"] == "sample" and not site["is_observed"]}


def unconstrained_shapes(model: Model, table: Design) -> dict[str, tuple[int, ...]]:
    """Shape of every parameter as a sampler sees it."""
    return {
        name: biject_to(site["fn"].support).inverse_shape(site["value"].shape)
        for name, site in sampled(model, table).items()
    }


def potentials(
    model: Model, tables: Sequence[Design], points: Mapping[str, np.ndarray]
) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Negative log density and its gradient at many unconstrained points, for tables of one shape."""

    @jax.jit
    def run(table: Design, points: Mapping[str, Any]) -> Any:
        one = jax.value_and_grad(lambda point: potential_energy(model, (table,), {}, point))
        return jax.vmap(one)(points)

    found = [run(jax.tree.map(jnp.asarray, table), dict(points)) for table in tables]
    return [(np.asarray(value), {name: np.asarray(part) for name, part in slope.items()}) for value, slope in found]


def log_probability(model: Model, table: Design, sites: Mapping[str, Any]) -> tuple[float, np.ndarray]:
    """Log density of the responses, in sum and by cell, with every other site set."""
    with handlers.seed(rng_seed=0), handlers.trace() as trace, handlers.substitute(data=dict(sites)):
        model(jax.tree.map(jnp.asarray, table))
    responses = trace["score" if "score" in trace else "successes"]
    law, value = responses["fn"], responses["value"]
    return float(law.log_prob(value)), np.asarray(law.pointwise(value))
