"""Distributions as text and back: ``HalfNormal(scale=0.5)``."""

from __future__ import annotations

import ast

import numpyro.distributions as dist
from numpyro.distributions import Distribution


def to_text(prior: Distribution) -> str:
    """Write a prior as ``Name(argument=number, ...)``.

    Raises
    ------
    ValueError
        If the prior is not a plain distribution with numbers as arguments.

    Examples
    --------
    >>> to_text(dist.Normal(0.0, 1.5))
    'Normal(loc=0.0, scale=1.5)'
    """
    name = type(prior).__name__
    try:
        arguments = {key: float(getattr(prior, key)) for key in prior.arg_constraints}
        # Some have more to them than their parameters: a truncated one has the distribution it was cut from.
        type(prior)(**arguments)
    except (TypeError, AttributeError) as problem:
        raise ValueError(f"prior {name} cannot be written as text: its arguments are not plain numbers") from problem
    if getattr(dist, name, None) is not type(prior) or not arguments:
        raise ValueError(f"prior {name} cannot be written as text: it is not a plain distribution of NumPyro")
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def from_text(text: str) -> Distribution:
    """Read a prior: a distribution of NumPyro with numbers as arguments.

    Raises
    ------
    ValueError
        If the text is not such a call, the distribution is unknown, or an argument is outside its range.

    Examples
    --------
    >>> to_text(from_text("HalfNormal(0.5)"))
    'HalfNormal(scale=0.5)'
    """
    example = "write it like HalfNormal(0.5) or Normal(loc=0, scale=1)"
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("it is not a call")
        positional = [float(ast.literal_eval(argument)) for argument in call.args]
        named = {str(keyword.arg): float(ast.literal_eval(keyword.value)) for keyword in call.keywords}
    except (SyntaxError, TypeError, ValueError) as problem:
        raise ValueError(f"prior {text!r} is not a distribution with numbers as arguments: {example}") from problem
    kind = getattr(dist, call.func.id, None)
    if not (isinstance(kind, type) and issubclass(kind, Distribution)) or kind is Distribution:
        raise ValueError(f"prior {text!r}: NumPyro has no distribution {call.func.id}; {example}")
    try:
        prior = kind(*positional, **named, validate_args=True)
        to_text(prior)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"prior {text!r}: {problem}") from problem
    return prior
