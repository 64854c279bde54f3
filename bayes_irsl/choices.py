"""What is chosen where the user leaves it open, and why."""

from __future__ import annotations

from bayes_irsl.covariates import Axis
from bayes_irsl.engines.base import Engine
from bayes_irsl.engines.hmc import HMC
from bayes_irsl.engines.laplace import Laplace
from bayes_irsl.engines.svi import SVI
from bayes_irsl.responses import Responses
from irsl_models import likelihoods, trends
from irsl_models.model import Part

MOST_CELLS_FOR_HMC = 100_000
"""Above this many cells HMC takes more than some minutes on two cores."""
_OF_LAPLACE = (likelihoods.bernoulli, likelihoods.binomial, likelihoods.beta, likelihoods.ordered_beta)


def choose_engine(responses: Responses, likelihood: Part | None) -> tuple[Engine, str]:
    """Choose an engine by the size of the table, and for large ones by the likelihood.

    Parameters
    ----------
    responses : Responses
        The table.
    likelihood : callable or None
        The likelihood of the model; None leaves it to the data.

    Returns
    -------
    Engine
        With its default settings.
    str
        The choice and its reason.
    """
    cells = len(responses.cells)
    if cells <= MOST_CELLS_FOR_HMC:
        return HMC(), f"engine hmc: {cells:,} cells"
    if likelihood is None:
        likelihood, _ = choose_likelihood(responses)
    why = f"{cells:,} cells are too many for hmc in minutes; hmc is slower and better"
    if likelihood in _OF_LAPLACE:
        return Laplace(), f"engine laplace: {why}"
    return SVI(), f"engine svi: {why}"


def choose_likelihood(responses: Responses) -> tuple[Part, str]:
    """Choose the likelihood of a table that has scores or counts, not both.

    Returns
    -------
    callable
        A part of `irsl_models.likelihoods`.
    str
        The choice and its reason.
    """
    chosen, why = _likelihood(responses)
    return chosen, f"likelihood {chosen.__name__}: {why}"


def choose_trend(axis: Axis | None) -> tuple[Part, str]:
    """Choose the trend over a scaling variable.

    Parameters
    ----------
    axis : Axis or None
        The scaling variable; None where there is none.

    Returns
    -------
    callable
        A part of `irsl_models.trends`.
    str
        The choice and its reason.

    Examples
    --------
    >>> choose_trend(Axis("flops", "log10", centre=21.0, unit=0.5, low=20.0, high=22.0, n_values=3))[1]
    'trend linear: over flops'
    """
    if axis is None:
        return trends.none, "trend none: no scaling variable"
    if axis.how != "date":
        return trends.linear, f"trend linear: over {axis.name}"
    if axis.is_short:
        return trends.linear, f"trend linear: {axis.n_values} dates are too few for random_walk"
    return trends.random_walk, f"trend random_walk: {axis.name} holds dates, and the field moves unevenly"


def _likelihood(responses: Responses) -> tuple[Part, str]:
    cells = responses.cells
    if responses.kind == "counts":
        if (cells["trials"] == 1).all():
            return likelihoods.bernoulli, "every response is one trial"
        return likelihoods.beta_binomial, "successes of trials"
    score = cells["score"]
    boundary = score.isin([0.0, 1.0])
    if boundary.all():
        return likelihoods.bernoulli, "every score is 0 or 1"
    if boundary.any():
        return likelihoods.ordered_beta, f"{int(boundary.sum())} of {len(score)} scores are exactly 0 or 1"
    return likelihoods.beta, "every score lies inside (0, 1)"
