"""One file per fit: netCDF that ArviZ opens as it is, and that loads without the original tables."""

from __future__ import annotations

import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl import names
from bayes_irsl.covariates import Axis
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.fitting import Fit
from bayes_irsl.responses import Responses
from irsl_models import Model

FORMAT = 1
_TABLES = ("cells", "lms", "items")


def save(fit: Fit, path: str | Path) -> None:
    """Write a fit to a netCDF file; an existing file is replaced only once the new one is complete.

    Parameters
    ----------
    fit : Fit
        What `fit` returned.
    path : str or Path
        File to write, by custom ending in ``.nc``.

    Raises
    ------
    InputError
        If the model has parts or priors that a file cannot name (functions of your own).

    Examples
    --------
    >>> import bayes_irsl as bi, tempfile
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=6, seed=1)
    >>> fit = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
    >>> file = tempfile.NamedTemporaryFile(suffix=".nc")
    >>> bi.save(fit, file.name)
    >>> bi.load(file.name).axis == fit.axis
    True
    """
    path = Path(path)
    tree = xr.DataTree.from_dict({name: node.to_dataset() for name, node in fit.tree.children.items()})
    tree["observed_data"] = xr.DataTree(_observed(fit.responses.cells))
    tree.attrs = {
        **{name: value if isinstance(value, (str, int)) else json.dumps(value) for name, value in fit.tree.attrs.items()},
        "format_version": FORMAT,
        "model": json.dumps(names.to_dict(fit.model)),
        "axis": json.dumps(fit.axis.to_dict() if fit.axis else None),
        "groups": json.dumps(fit.groups),
        "choices": json.dumps(dict(fit.responses.choices), default=str),
        "response_notes": json.dumps(fit.responses.notes),
        "missing": fit.responses.missing,
        **{name: getattr(fit.responses, name).to_json(orient="table", index=False, double_precision=15) for name in _TABLES[1:]},
    }
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    try:
        tree.to_netcdf(unfinished, engine="h5netcdf")
        os.replace(unfinished, path)
    finally:
        Path(unfinished).unlink(missing_ok=True)


def load(path: str | Path) -> Fit:
    """Read a fit that `save` wrote.

    Raises
    ------
    InputError
        If the file is not there, is not a fit, or was written by a later version.
    """
    path = Path(path)
    try:
        tree = xr.load_datatree(path, engine="h5netcdf")
    except (OSError, ValueError, KeyError) as problem:
        rule = "there is no such file" if not path.exists() else "it is not a saved fit"
        raise InputError(Fault(str(path), "file", rule, "Give a file that fit wrote")) from problem
    attrs: dict[str, Any] = dict(tree.attrs)
    if "format_version" not in attrs:
        raise InputError(Fault(str(path), "file", "it is not a saved fit", "Give a file that fit wrote"))
    if int(attrs["format_version"]) > FORMAT:
        rule = "it was written by a later version of bayes-irsl"
        raise InputError(Fault(str(path), "file", rule, "Upgrade bayes-irsl", str(attrs["format_version"])))
    axis = json.loads(attrs.pop("axis"))
    observed = tree["observed_data"].to_dataset().to_dataframe().reset_index(drop=True)
    responses = Responses(
        cells=observed,
        notes=tuple(json.loads(attrs.pop("response_notes"))),
        choices=json.loads(attrs.pop("choices")),
        missing=int(attrs.pop("missing")),
        **{name: pd.read_json(io.StringIO(attrs.pop(name)), orient="table", precise_float=True) for name in _TABLES[1:]},
    )
    model: Model = names.from_dict(json.loads(attrs.pop("model")))
    groups = tuple(json.loads(attrs.pop("groups")))
    tree.attrs = {name: json.loads(value) if name in ("notes", "versions") else value for name, value in attrs.items()}
    return Fit(model, responses, Axis.from_dict(axis) if axis else None, groups, tree)


def _observed(cells: pd.DataFrame) -> xr.Dataset:
    return xr.Dataset(
        {
            name: ("cell", np.asarray(column, dtype=object if column.dtype == "str" else column.dtype))
            for name, column in cells.items()
        }
    )
