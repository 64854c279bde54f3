"""Cost of log density and gradient of a table of scores, beside NumPyro's own Beta.

``python -m bayes_irsl.studies.kernel`` times both in turn, in single and double precision, and writes medians of
their paired ratios. Run it on one core (``taskset -c 0``) of a quiet machine.
``python -m bayes_irsl.studies.kernel devices`` times ours on one device and on two that share the items; it needs two
cores.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pandas as pd
from cyclopts import App
from jax.nn import sigmoid

from bayes_irsl import encoding
from bayes_irsl.sharding import along_items, mesh_of_items, spread
from irsl_models.curves import Items
from irsl_models.distributions import LogitBeta
from irsl_models.item_responses import ItemResponses
from irsl_models.law import Law

SIZES = ((100, 500), (500, 2000), (2000, 5000))
app = App(help=__doc__)

Parameters = tuple[Any, Any, Any, Any]


def table(n_lms: int, n_items: int, seed: int = 0) -> tuple[Any, Parameters]:
    """Scores drawn from the model, and what they were drawn with: ability, log a, threshold, log precision."""
    rng = np.random.default_rng(seed)
    ability, log_slope = rng.normal(size=n_lms), 0.3 * rng.normal(size=n_items)
    threshold, log_precision = np.exp(log_slope) * rng.normal(size=n_items), 3.0 + 0.5 * rng.normal(size=n_items)
    mean = np.asarray(sigmoid(np.exp(log_slope) * ability[:, None] - threshold))
    precision = np.exp(log_precision)
    score = np.clip(rng.beta(mean * precision, (1.0 - mean) * precision), 1e-6, 1.0 - 1e-6)
    people = encoding.Population(
        lms=tuple(f"lm-{i}" for i in range(n_lms)),
        items=tuple(f"item-{j}" for j in range(n_items)),
        benchmarks=("all",),
        benchmark=np.zeros(n_items, dtype=int),
        chance=np.full(n_items, np.nan),
        x=None,
        groups={},
        answered=np.full((n_lms, 1), n_items),
    )
    lm, item = np.divmod(np.arange(n_lms * n_items), n_items)
    return encoding.design(people, lm, item, score=score.ravel()), (ability, log_slope, threshold, log_precision)


def ours(design: Any, at: Parameters) -> Any:
    """Log density of all scores, by the package."""
    ability, log_slope, threshold, log_precision = at
    law = Law(LogitBeta, {"precision": jnp.exp(log_precision)}, ("log_score", "log_rest"))
    items = Items(jnp.exp(log_slope), threshold)
    return ItemResponses(law, items, ability[:, None], design).log_prob(design.score)


def theirs(design: Any, at: Parameters) -> Any:
    """Log density of all scores, as NumPyro has it."""
    ability, log_slope, threshold, log_precision = at
    mean = sigmoid(jnp.exp(log_slope) * ability[:, None] - threshold)
    precision = jnp.exp(log_precision)
    return dist.Beta(mean * precision, (1.0 - mean) * precision).log_prob(design.score.reshape(mean.shape)).sum()


def in_bits(bits: str, tree: Any) -> Any:
    """Convert real numbers to single or double precision."""
    kind = {"32": np.float32, "64": np.float64}[bits]
    return jax.tree.map(lambda values: values.astype(kind if values.dtype.kind == "f" else values.dtype), tree)


def measure(n_lms: int, n_items: int, repeats: int = 15) -> pd.DataFrame:
    """Time both, paired: CPU nanoseconds for each cell, and how often ours fits into theirs."""
    design, at = table(n_lms, n_items)
    slopes: dict[str, Callable[[], Any]] = {}
    for bits in ("32", "64"):
        with jax.enable_x64(bits == "64"):
            cast = jax.tree.map(jnp.asarray, in_bits(bits, (design, at)))
            for name, density in (("ours", ours), ("theirs", theirs)):
                compiled = jax.jit(jax.value_and_grad(density, 1)).lower(*cast).compile()
                slopes[f"{name} {bits}"] = partial(compiled, *cast)
    spent: dict[str, list[float]] = {name: [] for name in slopes}
    for _ in range(repeats):
        for name, call in slopes.items():
            # Once untimed: the memory that the one before has used is given back at the expense of whoever comes next.
            jax.tree.map(np.asarray, call())
            begun = time.process_time()
            jax.tree.map(np.asarray, call())  # waits for the result
            spent[name].append((time.process_time() - begun) / (n_lms * n_items) * 1e9)
    cost = {name: np.array(values) for name, values in spent.items()}
    rows = [
        {
            "size": f"{n_lms} x {n_items}",
            "bits": bits,
            "ns a cell": np.median(cost[f"ours {bits}"]),
            "numpyro": np.median(cost[f"theirs {bits}"]),
            "ratio": np.median(cost[f"theirs {bits}"] / cost[f"ours {bits}"]),
            "ratio to numpyro 64": np.median(cost["theirs 64"] / cost[f"ours {bits}"]),
        }
        for bits in ("32", "64")
    ]
    return pd.DataFrame(rows)


@app.default
def main(out: Path = Path("kernel.csv"), *, repeats: int = 15) -> None:
    """Run the study.

    Parameters
    ----------
    out : Path
        CSV file to write.
    repeats : int
        Pairs of runs.
    """
    found = pd.concat([measure(*size, repeats) for size in SIZES], ignore_index=True)
    found.to_csv(out, index=False, float_format="%.2f")
    sys.stdout.write(found.round(1).to_string(index=False) + "\n")


def on_devices(n_lms: int, n_items: int, repeats: int = 15) -> pd.DataFrame:
    """Time ours on one device and on two, paired, by the clock, and how often the second fits into the first."""
    design, at = table(n_lms, n_items)
    mesh = mesh_of_items(2)
    shared = along_items(mesh, None), *[along_items(mesh)] * 3
    rows = []
    for bits in ("32", "64"):
        with jax.enable_x64(bits == "64"):
            cast = in_bits(bits, (design, at))
            alone = jax.tree.map(jnp.asarray, cast)
            one = jax.jit(jax.value_and_grad(ours, 1)).lower(*alone).compile()
            with jax.set_mesh(mesh):
                together = spread(cast[0], mesh), tuple(map(jax.device_put, cast[1], shared))
                two = jax.jit(jax.value_and_grad(ours, 1)).lower(*together).compile()
        times = np.array([[_seconds(one, alone), _seconds(two, together)] for _ in range(repeats)])
        of_one, of_two = np.median(times, axis=0) * 1e3
        ratio = np.median(times[:, 0] / times[:, 1])
        found, other = (np.asarray(program(*given)[1][0]) for program, given in ((one, alone), (two, together)))
        off = np.abs(found - other).max() / np.abs(found).max()
        size = f"{n_lms} x {n_items}"
        rows.append({"size": size, "bits": bits, "ms one": of_one, "ms two": of_two, "ratio": ratio, "difference": off})
    return pd.DataFrame(rows)


def _seconds(program: Callable[..., Any], given: tuple[Any, ...]) -> float:
    jax.tree.map(np.asarray, program(*given))
    begun = time.perf_counter()
    jax.tree.map(np.asarray, program(*given))  # waits for the result
    return time.perf_counter() - begun


@app.command
def devices(out: Path = Path("kernel_devices.csv"), *, repeats: int = 15) -> None:
    """Compare one device with two.

    Parameters
    ----------
    out : Path
        CSV file to write.
    repeats : int
        Pairs of runs.
    """
    jax.config.update("jax_num_cpu_devices", 2)  # type: ignore[no-untyped-call]
    found = pd.concat([on_devices(*size, repeats) for size in SIZES], ignore_index=True)
    found.to_csv(out, index=False, float_format="%.3g")
    sys.stdout.write(found.to_string(index=False, float_format="{:.3g}".format) + "\n")


if __name__ == "__main__":
    app()
