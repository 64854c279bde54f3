"""The statistics of bayes-irsl: NumPyro models of language-model scores."""

# ArviZ leaves a numpyro behind that loads when it is first touched. Touched by the import of one of its submodules
# it comes out incomplete; so the package itself is touched first.
from numpyro import __version__ as _  # noqa: F401

from irsl_models import curves as curves
from irsl_models import effects as effects
from irsl_models import likelihoods as likelihoods
from irsl_models import trends as trends
from irsl_models.design import Design as Design
from irsl_models.design import Dim as Dim
from irsl_models.design import Grouping as Grouping
from irsl_models.design import Knots as Knots
from irsl_models.model import Model as Model
