"""The public names: read by type checkers, by editors and by `lazily.attach`."""

from bayes_irsl import datasets, milestones, plots
from bayes_irsl.checking import check
from bayes_irsl.covariates import Axis
from bayes_irsl.diagnostics import diagnose
from bayes_irsl.door.reading import read_responses
from bayes_irsl.engines.hmc import HMC
from bayes_irsl.engines.laplace import Laplace
from bayes_irsl.engines.nuts import NUTS
from bayes_irsl.engines.svi import SVI
from bayes_irsl.errors import InputError
from bayes_irsl.fitting import Fit, fit
from bayes_irsl.forecasting import forecast, predict
from bayes_irsl.pointwise import log_likelihood
from bayes_irsl.responses import Responses
from bayes_irsl.simulation import simulate
from bayes_irsl.storage import load, save
from bayes_irsl.summaries import summarise
from irsl_models import Model, curves, effects, likelihoods, trends

__all__ = [
    "HMC",
    "NUTS",
    "SVI",
    "Axis",
    "Fit",
    "InputError",
    "Laplace",
    "Model",
    "Responses",
    "check",
    "curves",
    "datasets",
    "diagnose",
    "effects",
    "fit",
    "forecast",
    "likelihoods",
    "load",
    "log_likelihood",
    "milestones",
    "plots",
    "predict",
    "read_responses",
    "save",
    "simulate",
    "summarise",
    "trends",
]
