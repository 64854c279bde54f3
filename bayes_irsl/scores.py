"""How good a forecast was: draws or intervals against what came true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scoringrules


def score_forecast(truth: np.ndarray, draws: np.ndarray) -> pd.DataFrame:
    """Score forecasts, one row per forecast.

    Parameters
    ----------
    truth : np.ndarray
        What came true, one value per forecast.
    draws : np.ndarray
        Forecast draws, dimensions (draw, forecast).

    Returns
    -------
    pandas.DataFrame
        ``crps`` (continuous ranked probability score, in the unit of the score; smaller is better),
        ``error`` (absolute error of the median), ``covered_50``, ``covered_90`` and ``width_90`` (central
        intervals), ``pit`` (share of draws below the truth).

    Examples
    --------
    >>> draws = np.linspace(0.0, 1.0, 101)[:, None]
    >>> score_forecast(np.array([0.5]), draws).round(3).to_dict("records")[0]["crps"]
    0.084
    """
    q05, q25, q50, q75, q95 = np.quantile(draws, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    return pd.DataFrame(
        {
            "crps": scoringrules.crps_ensemble(truth, draws.T),
            "error": np.abs(truth - q50),
            "covered_50": (q25 <= truth) & (truth <= q75),
            "covered_90": (q05 <= truth) & (truth <= q95),
            "width_90": q95 - q05,
            "pit": (draws < truth).mean(0),
        }
    )
