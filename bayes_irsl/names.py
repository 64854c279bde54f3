"""Parts of a model by name: what the command line reads and a saved fit records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayes_irsl.errors import Fault, InputError
from irsl_models import Model, curves, effects, likelihoods, priors, trends
from irsl_models.curves import Curve
from irsl_models.model import Part

TRENDS: dict[str, Part] = {name: getattr(trends, name) for name in trends.__all__}
LIKELIHOODS: dict[str, Part] = {name: getattr(likelihoods, name) for name in likelihoods.__all__}
EFFECTS: dict[str, Part] = {name: getattr(effects, name) for name in effects.__all__}
CURVES: dict[str, Curve] = curves.CURVES


def to_dict(model: Model) -> dict[str, Any]:
    """Describe a model by the names of its parts.

    Raises
    ------
    InputError
        If a part is a function of the user's own, or a prior cannot be written as text.

    Examples
    --------
    >>> to_dict(Model(trend=trends.power))["trend"]
    'power'
    """
    try:
        texts = {name: priors.to_text(prior) for name, prior in model.priors.items()}
    except ValueError as problem:
        raise InputError(Fault("model", "prior", str(problem), "Give the prior as a plain distribution")) from problem
    return {
        "trend": _name(TRENDS, model.trend),
        "shared": [_name(EFFECTS, part) for part in model.shared],
        "residual": None if model.residual is None else _name(EFFECTS, model.residual),
        "departures": [_name(EFFECTS, part) for part in model.departures],
        "curve": _name(CURVES, model.curve),
        "likelihood": None if model.likelihood is None else _name(LIKELIHOODS, model.likelihood),
        "priors": texts,
    }


def from_dict(description: Mapping[str, Any]) -> Model:
    """Put a model together from the names of its parts; the inverse of `to_dict`."""
    residual, likelihood = description["residual"], description["likelihood"]
    return Model(
        trend=TRENDS[description["trend"]],
        shared=tuple(EFFECTS[name] for name in description["shared"]),
        residual=None if residual is None else EFFECTS[residual],
        departures=tuple(EFFECTS[name] for name in description["departures"]),
        curve=CURVES[description["curve"]],
        likelihood=None if likelihood is None else LIKELIHOODS[likelihood],
        priors={name: priors.from_text(text) for name, text in description["priors"].items()},
    )


def _name(catalogue: Mapping[str, Any], part: Any) -> str:
    for name, known in catalogue.items():
        if known is part:
            return name
    shown = getattr(part, "__name__", repr(part))
    rule = f"{shown} is not one of {', '.join(catalogue)}, so a file cannot name it"
    raise InputError(Fault("model", "part", rule, "Keep the fit in memory, or use a part that is listed"))
