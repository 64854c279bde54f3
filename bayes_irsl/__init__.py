"""Bayesian item response scaling laws: forecasts of language-model scores with intervals."""

from bayes_irsl.covariates import Axis as Axis
from bayes_irsl.door.design_report import report as check
from bayes_irsl.door.reading import read_responses as read_responses
from bayes_irsl.engines.nuts import NUTS as NUTS
from bayes_irsl.engines.svi import SVI as SVI
from bayes_irsl.errors import InputError as InputError
from bayes_irsl.fitting import Fit as Fit
from bayes_irsl.fitting import fit as fit
from bayes_irsl.responses import Responses as Responses
from bayes_irsl.simulation import simulate as simulate
from bayes_irsl.storage import load as load
from bayes_irsl.storage import save as save
from irsl_models import Model as Model
from irsl_models import curves as curves
from irsl_models import effects as effects
from irsl_models import likelihoods as likelihoods
from irsl_models import trends as trends
