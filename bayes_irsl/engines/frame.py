r"""Items as seen from where the abilities lie.

Responses tell how an item stands to the abilities, and hardly where these lie and how far they spread: moved or
stretched together, with all thresholds and discriminations along, they leave every expected score as it is. In the
parameters of the model that is a long and curved ridge. Here an item is sampled as :math:`\log a_j + \log s` and
:math:`\kappa_j - a_j m`, with m and s the mean and the standard deviation of the abilities of the draw, and so are the
means of the population of items: the ridge is then straight, along abilities alone, and nothing else changes on it.

Each is a shift by what is known when the item is drawn, so that densities do not change. It is done where LMs are few:
the ridge is then long, for its length goes with the inverse root of their number. Given the abilities items do not
meet; but LMs would, and where there are many of them they are to be taken one by one.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array
from numpyro.distributions import constraints
from numpyro.distributions.transforms import AffineTransform
from numpyro.infer.reparam import Reparam
from numpyro.primitives import Messenger

from bayes_irsl.engines.blocks import side
from irsl_models import Design

_ABILITY, _SLOPE, _LEVEL = "ability", "log_discrimination", "threshold"
# A spread of nothing has no log.
_LEAST_VARIANCE = 1e-12


class Frame(Messenger):  # type: ignore[misc]
    """What a model has drawn so far of abilities and discriminations, if the table calls for it."""

    def __init__(self, design: Design) -> None:
        super().__init__()
        self._is_used = side(design) == "item"
        self._values: dict[str, Array] = {}

    def postprocess_message(self, message: Any) -> None:
        """Keep what shifts are made of."""
        if self._is_used and message["name"] in (_ABILITY, _SLOPE, f"{_SLOPE}_mean"):
            self._values[message["name"]] = message["value"]

    def shift(self, name: str) -> Array | float:
        """What is added to an item parameter, or to its mean, where it is sampled."""
        ability = self._values.get(_ABILITY)
        if ability is None or ability.size < 2:
            return 0.0
        if name in (_SLOPE, f"{_SLOPE}_mean"):
            return 0.5 * jnp.log(_LEAST_VARIANCE + ability.var())
        slope = {_LEVEL: _SLOPE, f"{_LEVEL}_mean": f"{_SLOPE}_mean"}.get(name)
        if slope is None or f"{_SLOPE}_mean" not in self._values:
            return 0.0
        log_slope = self._values.get(slope, self._values[f"{_SLOPE}_mean"])
        return -jnp.exp(log_slope) * ability.mean()

    def moves(self, site: Any) -> bool:
        """Whether a site is the mean of a parameter of items that is shifted."""
        is_mean = site["name"] in (f"{_SLOPE}_mean", f"{_LEVEL}_mean")
        return is_mean and _ABILITY in self._values and site["fn"].support is constraints.real


class Shifted(Reparam):  # type: ignore[misc]
    """A site that is sampled some way off, under its name with a suffix."""

    def __init__(self, shift: Any, suffix: str) -> None:
        self.shift, self.suffix = shift, suffix

    def __call__(self, name: str, fn: Any, obs: Any) -> tuple[None, Array]:
        """Sample the shifted value, and shift it back."""
        there = numpyro.sample(name + self.suffix, dist.TransformedDistribution(fn, AffineTransform(self.shift, 1.0)))
        return None, there - self.shift
