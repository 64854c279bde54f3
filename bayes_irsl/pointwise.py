"""Log densities of the observed responses, one by one: what ArviZ compares models by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl import prediction
from bayes_irsl.designs import observed
from bayes_irsl.fitting import Fit, double_precision


def log_likelihood(fit: Fit) -> xr.DataTree:
    """Log density of every observed response in every draw, as ArviZ takes it.

    Of counts it is the log probability, binomial coefficient included. A model is scored by how well it foretells
    one more response of an LM and an item that it knows: `arviz.loo` says nothing of LMs that it does not know.

    Parameters
    ----------
    fit : Fit
        What `fit` returned. For a large table take fewer draws, ``fit.thinned(1000)``.

    Returns
    -------
    xarray.DataTree
        ``log_likelihood`` and ``observed_data``, both with one array, ``score`` or ``successes``, over the cells of
        the table in its order; beside them ``posterior`` and ``sample_stats`` of the fit. Log densities of more than
        half a gigabyte lie in a temporary file, which goes when they go; ArviZ may yet make copies of them.

    Examples
    --------
    >>> import bayes_irsl as bi
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=6, seed=1)
    >>> fit = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
    >>> tree = bi.log_likelihood(fit)  # for arviz.loo(tree), or arviz.compare({"one": tree, "other": ...})
    >>> dict(tree["log_likelihood"]["score"].sizes)
    {'chain': 1, 'draw': 50, 'cell': 48}
    """
    cells = fit.responses.cells
    with double_precision():
        design = observed(fit.model, fit.population, cells)
        places = np.arange(len(cells))
        if design.rows:
            lm = pd.Index(fit.population.lms).get_indexer(cells["lm"])
            places = lm * design.n_items + pd.Index(fit.population.items).get_indexer(cells["item"])
        design = design.at(places)
        values = prediction.log_densities(fit.model, design, fit.sites)
    name, response = ("successes", design.successes) if design.successes is not None else ("score", design.score)
    where = {column: ("cell", cells[column].to_numpy(dtype=object)) for column in ("lm", "item")}
    parts = {
        "posterior": fit.posterior,
        "sample_stats": fit.tree["sample_stats"].to_dataset(),
        "log_likelihood": xr.Dataset({name: (("chain", "draw", "cell"), values)}, coords=where),
        "observed_data": xr.Dataset({name: ("cell", np.asarray(response))}, coords=where),
    }
    return xr.DataTree.from_dict(parts)
