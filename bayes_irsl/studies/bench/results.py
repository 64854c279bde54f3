"""Results in one long table, and in tables that a page can show."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

_KEYS = ("LMs", "items", "method", "quantity")
COLUMNS = ("measurement", *_KEYS, "figure", "value")
"""Columns of the long table."""


def long(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put all figures below one another.

    Parameters
    ----------
    tables : mapping of str to pandas.DataFrame
        A table of each measurement: LMs, items, method, in some a quantity, and figures.
    """
    parts = []
    for name, table in tables.items():
        keys = [key for key in _KEYS if key in table]
        part = table.melt(keys, var_name="figure", value_name="value")
        parts.append(part.assign(measurement=name).reindex(columns=list(COLUMNS)))
    return pd.concat(parts, ignore_index=True)


def markdown(table: pd.DataFrame) -> str:
    """Write a table as Markdown, numbers with three digits."""
    cells = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    rows = [list(table.columns), ["---"] * table.shape[1], *cells]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def page(tables: Mapping[str, pd.DataFrame]) -> str:
    """Write a page: what stands out, then every measurement."""
    parts = [f"# Benchmarks\n\n{markdown(headlines(tables))}"]
    parts += [f"\n## {name}\n\n{markdown(table)}" for name, table in tables.items()]
    return "".join(parts)


def headlines(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Choose what a reader looks for first: one row for each measurement, size and method, with a few figures."""
    rows = []
    for name, table in tables.items():
        for _, row in table.iterrows():
            shown = [f"{figure} {_cell(row[figure])}" for figure in _SHOWN[name] if pd.notna(row.get(figure, np.nan))]
            method = f"{row['method']}, {row['quantity']}" if "quantity" in row else row["method"]
            size = f"{row['LMs']:,} × {row['items']:,}"
            rows.append({"measurement": name, "LMs × items": size, "method": method, "figures": "; ".join(shown)})
    return pd.DataFrame(rows)


_SHOWN: Mapping[str, tuple[str, ...]] = {
    "kernel": ("ns a cell", "numpyro", "ratio"),
    "samplers": (
        "least ESS",
        "least ESS, reported",
        "R-hat",
        "CPU s",
        "ESS per CPU s, ratio",
        "reported ESS per CPU s, ratio",
    ),
    "points": ("RMSE ability", "RMSE difficulty", "RMSE log discrimination", "CPU s"),
    "sizes": ("s", "peak GB"),
    "calibration": ("squared error over variance", "standard error"),
    "agreement": ("mean off, RMS", "mean off, largest", "sd ratio"),
}


def _cell(value: object) -> str:
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
    return str(value)
