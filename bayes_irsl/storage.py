"""One file per fit: netCDF that ArviZ opens as it is, and that loads without the original tables."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl import names
from bayes_irsl.covariates import Axis
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.files import replacing
from bayes_irsl.fitting import Fit
from bayes_irsl.responses import Responses
from irsl_models import Model

FORMAT = 2


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
        If the model has parts or priors that a file cannot name (functions of your own), or the folder of the
        file does not exist.

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
    if not path.parent.is_dir():
        raise InputError(Fault(str(path), "file", "its folder does not exist", "Make the folder first"))
    tree = xr.DataTree.from_dict({name: node.to_dataset() for name, node in fit.tree.children.items()})
    tree["observed_data"] = xr.DataTree(_to_dataset(fit.responses.cells, "cell"))
    tree["lms"] = xr.DataTree(_to_dataset(fit.responses.lms, "lm_row"))
    tree["items"] = xr.DataTree(_to_dataset(fit.responses.items, "item_row"))
    tree.attrs = {
        **{
            name: value if isinstance(value, (str, int)) else json.dumps(value)
            for name, value in fit.tree.attrs.items()
        },
        "format_version": FORMAT,
        "model": json.dumps(names.to_dict(fit.model)),
        "axis": json.dumps(fit.axis.to_dict() if fit.axis else None),
        "groups": json.dumps(fit.groups),
        "choices": json.dumps(dict(fit.responses.choices), default=str),
        "response_notes": json.dumps(fit.responses.notes),
        "missing": fit.responses.missing,
    }
    tree.attrs["checksum"] = _checksum(tree)
    with replacing(path) as unfinished:
        tree.to_netcdf(unfinished, engine="h5netcdf")


def load(path: str | Path) -> Fit:
    """Read a fit that `save` wrote.

    Raises
    ------
    InputError
        If the file is not there, is not a fit, is damaged, or was written by a later version.
    """
    if not isinstance(path, str | os.PathLike):
        rule = f"it is not the path of a file but of type {type(path).__name__}"
        raise InputError(Fault("option path", "option", rule, "Give a file that fit wrote"))
    path = Path(path)
    try:
        tree = xr.load_datatree(path, engine="h5netcdf")
    except (OSError, ValueError, KeyError, RuntimeError) as problem:
        rule = "there is no such file" if not path.exists() else "it is not a saved fit"
        raise InputError(Fault(str(path), "file", rule, "Give a file that fit wrote")) from problem
    # Files of earlier days have none.
    if tree.attrs.pop("checksum", None) not in (None, _checksum(tree)):
        rule = "the file is damaged: it does not hold what was written"
        raise InputError(Fault(str(path), "file", rule, "Take a copy of it, or fit again"))
    attrs: dict[str, Any] = {str(name): value for name, value in tree.attrs.items()}
    if "format_version" not in attrs:
        raise InputError(Fault(str(path), "file", "it is not a saved fit", "Give a file that fit wrote"))
    if int(attrs["format_version"]) > FORMAT:
        rule = "it was written by a later version of bayes-irsl"
        raise InputError(Fault(str(path), "file", rule, "Upgrade bayes-irsl", str(attrs["format_version"])))
    if int(attrs["format_version"]) < FORMAT:
        rule = "it was written by an earlier version of bayes-irsl"
        raise InputError(Fault(str(path), "file", rule, "Fit again", str(attrs["format_version"])))
    try:
        return _assembled(tree, attrs)
    except (KeyError, ValueError, TypeError) as problem:
        rule = "a part of the saved fit is missing or damaged"
        raise InputError(Fault(str(path), "file", rule, "Fit again")) from problem


def _assembled(tree: xr.DataTree, attrs: dict[str, Any]) -> Fit:
    """Put a fit together from what its file holds."""
    axis = json.loads(attrs.pop("axis"))
    responses = Responses(
        cells=_to_frame(tree["observed_data"].to_dataset()),
        lms=_to_frame(tree["lms"].to_dataset()),
        items=_to_frame(tree["items"].to_dataset()),
        notes=tuple(json.loads(attrs.pop("response_notes"))),
        choices=json.loads(attrs.pop("choices")),
        missing=int(attrs.pop("missing")),
    )
    model: Model = names.from_dict(json.loads(attrs.pop("model")))
    groups = tuple(json.loads(attrs.pop("groups")))
    tree.attrs = {
        name: json.loads(value)
        if name in ("notes", "versions", "settings")
        else value.item()
        if hasattr(value, "item")
        else value
        for name, value in attrs.items()
    }
    return Fit(model, responses, Axis.from_dict(axis) if axis else None, groups, tree)


def _checksum(tree: xr.DataTree) -> str:
    """SHA-256 of all that a file holds, the same before it is written and after it is read."""
    digest = hashlib.sha256()
    for node in sorted(tree.subtree, key=lambda node: node.path):
        data = node.to_dataset(inherit=False)
        digest.update(json.dumps([node.path, _plain(data.attrs)]).encode())
        for name in sorted(data.variables, key=str):
            variable = data.variables[name]
            values = variable.to_numpy()
            digest.update(json.dumps([str(name), variable.dims, values.shape, _plain(variable.attrs)]).encode())
            if values.dtype.kind in "biuf":
                digest.update(values.dtype.str.encode() + np.ascontiguousarray(values).tobytes())
            else:
                digest.update(json.dumps([str(text) for text in values.ravel()]).encode())
    return digest.hexdigest()


def _plain(attrs: Mapping[Any, Any]) -> dict[str, list[Any]]:
    """Write attributes as lists, for netCDF reads a list of one as its entry."""
    return {str(name): np.atleast_1d(attrs[name]).tolist() for name in sorted(attrs, key=str)}


def _to_dataset(table: pd.DataFrame, dim: str) -> xr.Dataset:
    """Turn columns into variables: numbers bit for bit, all else as text with the places of missing values."""
    variables = {}
    for name, column in table.items():
        attrs = {}
        if pd.api.types.is_numeric_dtype(column.dtype):
            values = column.to_numpy()
        else:
            missing = column.isna().to_numpy()
            values = column.astype("str").to_numpy(dtype=object, na_value="")
            attrs = {"missing": np.flatnonzero(missing)} if missing.any() else {}
        variables[_escaped(name)] = xr.Variable(dim, values, attrs)
    return xr.Dataset(variables, attrs={"columns": json.dumps([str(name) for name in table.columns])})


def _to_frame(data: xr.Dataset) -> pd.DataFrame:
    """Turn variables back into the columns `_to_dataset` took them from."""
    columns = {}
    for name in json.loads(data.attrs["columns"]):
        variable = data.variables[_escaped(name)]
        column = pd.Series(variable.to_numpy())
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = column.astype("str")
            column[np.atleast_1d(variable.attrs.get("missing", np.arange(0)))] = np.nan
        columns[name] = column
    return pd.DataFrame(columns)


def _escaped(name: Hashable) -> str:
    """Write the name of a column so that netCDF does not read a path of groups in it."""
    return str(name).replace("%", "%25").replace("/", "%2F")
