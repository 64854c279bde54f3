"""What a likelihood returns: the distribution of a response, told apart from the parameters that items have in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jaxtyping import Array, Float
from numpyro.distributions import Distribution

from irsl_models.design import Design

Pairs = Mapping[tuple[str, str], Array]


@dataclass(frozen=True)
class Affine:
    """The parts of a law whose log density is a sum of products of numbers that a response gives and of functions.

    They are told in `irsl_models.affine`.

    Parameters
    ----------
    columns : callable
        Takes the data by their names; gives the numbers d of every response.
    weights : callable
        Takes the logit, then the parameters of the law by their names; gives g, that of the exposure first.
    information : callable
        Takes the same; gives the Fisher information of one response, or of one unit of exposure, by pairs of
        ``"logit"`` and names of parameters. Pairs that are left out have none.
    data : tuple of str
        Data that the columns are made of: fields of the design, or ``value``, the response itself.
    flat : int
        So many of the last weights do not depend on the logit.
    exposure : str, optional
        Data of the law that say how much a response counts; 1 each without.
    excess : callable, optional
        Takes the data; gives what of a response is in none of its numbers, which are bounded; 0 for nearly all.
    beyond : callable, optional
        Takes the logit, such an excess and the parameters by their names; gives the log density that it adds.
    """

    columns: Callable[..., tuple[Array, ...]]
    weights: Callable[..., tuple[Array, ...]]
    information: Callable[..., Pairs]
    data: tuple[str, ...] = ("value",)
    flat: int = 0
    exposure: str | None = None
    excess: Callable[..., Array] | None = None
    beyond: Callable[..., Array] | None = None


@dataclass(frozen=True)
class Law:
    r"""Distribution of a response, given the logit of its mean.

    Parameters
    ----------
    response : callable
        Takes the logit :math:`\eta`, then `parameters` and `data` by their names, all of one shape; returns a
        distribution of that batch shape.
    parameters : mapping of str to Float[Array, " item"]
        What items have of their own, such as precisions.
    data : tuple of str
        Fields of the design, one value per cell, that the distribution wants beside: ``trials``, or logs that were
        taken beforehand. Fields that the design does not have are left out.
    affine : Affine, optional
        The same density as a sum of products of what a response gives and functions of the logit, if it is one.

    Examples
    --------
    >>> import numpyro.distributions as dist
    >>> float(Law(dist.BernoulliLogits).response(0.0).mean)
    0.5
    """

    response: Callable[..., Distribution]
    parameters: Mapping[str, Float[Array, " item"]] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    affine: Affine | None = None

    def given(self, design: Design) -> dict[str, Array]:
        """Cell data of a design that the distribution takes."""
        found = {name: getattr(design, name) for name in self.data}
        return {name: value for name, value in found.items() if value is not None}
