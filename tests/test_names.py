"""Models by the names of their parts, priors as text."""

import json
from typing import Any

import numpy as np
import numpyro.distributions as dist
import pytest

import bayes_irsl as bi
from bayes_irsl import names
from irsl_models import priors

MODELS = [
    bi.Model(),
    *(bi.Model(trend=part) for part in names.TRENDS.values()),
    *(bi.Model(curve=part) for part in names.CURVES.values()),
    *(bi.Model(likelihood=part) for part in names.LIKELIHOODS.values()),
    bi.Model(shared=(), departures=(), residual=bi.effects.standard_scatter),
    bi.Model(trend=bi.trends.power).with_priors(
        curvature=dist.Gamma(2.0, 4.0), scatter_ratio=dist.LogNormal(-1.0, 0.1)
    ),
]


@pytest.mark.parametrize("model", MODELS)
def test_a_model_comes_back_from_its_names(model: bi.Model) -> None:
    description = names.to_dict(model)
    again = names.from_dict(json.loads(json.dumps(description)))
    assert names.to_dict(again) == description
    for part in ("trend", "shared", "residual", "departures", "curve", "likelihood"):
        assert getattr(again, part) == getattr(model, part)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("HalfNormal(0.5)", "HalfNormal(scale=0.5)"),
        ("Normal(-1, scale=2e-3)", "Normal(loc=-1.0, scale=0.002)"),
        ("Normal(0.1, 1)", "Normal(loc=0.1, scale=1.0)"),
        ("Gamma(2, 0.3)", "Gamma(concentration=2.0, rate=0.3)"),
    ],
)
def test_a_prior_comes_back_from_its_text(text: str, same: str) -> None:
    assert priors.to_text(priors.from_text(text)) == same
    assert priors.to_text(priors.from_text(same)) == same


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Halfnormal(0.5)", "NumPyro has no distribution Halfnormal"),
        ("HalfNormal", "write it like"),
        ("HalfNormal(-1)", "scale"),
        ("HalfNormal(0.5, 1, 2, 3)", "HalfNormal"),
        ("Normal(loc=0, spread=1)", "spread"),
        ("__import__('os').getcwd()", "write it like"),
        ("Normal(", "write it like"),
        ("Distribution()", "has no distribution Distribution"),
        ("Normal('a', 1)", "write it like"),
    ],
)
def test_a_text_that_is_no_prior_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="prior") as problem:
        priors.from_text(text)
    assert why in str(problem.value)


def test_a_mistyped_prior_is_refused_with_the_right_names() -> None:
    with pytest.raises(TypeError, match=r"no prior 'curvture'; it has: curvature, deviation_scale"):
        bi.Model(trend=bi.trends.power).with_priors(curvture=dist.HalfNormal(1.0))
    with pytest.raises(TypeError, match="no prior 'curvature'"):
        bi.Model().with_priors(curvature=dist.HalfNormal(1.0))


@pytest.mark.parametrize(
    ("prior", "why"),
    [
        (1, "is a distribution such as HalfNormal"),
        (dist.HalfNormal, "is a distribution such as HalfNormal"),
        (dist.Normal(0.0, 1.0), "reaches below zero"),
        (dist.Uniform(-1.0, 1.0), "reaches below zero"),
        (dist.TruncatedNormal(0.0, 1.0, low=-0.1), "reaches below zero"),
        (dist.Poisson(2.0), "is not a distribution of one continuous number"),
        (dist.HalfNormal(np.ones(2)), "is not a distribution of one continuous number"),
    ],
)
def test_a_prior_that_the_site_cannot_take_is_refused(prior: Any, why: str) -> None:
    with pytest.raises(TypeError, match=f"the prior of 'group_scale' {why}"):
        bi.Model().with_priors(group_scale=prior)


def test_a_positive_site_takes_every_prior_above_zero() -> None:
    for prior in (dist.Uniform(0.0, 1.0), dist.Gamma(2.0, 2.0), dist.TruncatedNormal(0.0, 1.0, low=0.0)):
        assert bi.Model().with_priors(group_scale=prior).priors["group_scale"] is prior
    assert "threshold_mean" in bi.Model().with_priors(threshold_mean=dist.StudentT(3.0)).priors


def test_priors_that_are_given_stand() -> None:
    model = bi.Model().with_priors(scatter_ratio=dist.HalfNormal(0.1)).with_priors(drift_scale=dist.HalfNormal(0.2))
    assert {name: priors.to_text(prior) for name, prior in model.priors.items()} == {
        "scatter_ratio": "HalfNormal(scale=0.1)",
        "drift_scale": "HalfNormal(scale=0.2)",
    }
    assert model.keywords()["scatter_ratio"] is model.priors["scatter_ratio"]
    assert bi.Model().priors == {}


def test_what_a_file_cannot_name_says_the_way_out() -> None:
    def cubic(design: object) -> None: ...

    with pytest.raises(bi.InputError, match=r"cubic is not one of linear, none, power.*Keep the fit in memory"):
        names.to_dict(bi.Model(trend=cubic))
    truncated = dist.TruncatedNormal(0.0, 1.0, low=0.0)
    with pytest.raises(bi.InputError, match="Give the prior as a plain distribution"):
        names.to_dict(bi.Model().with_priors(scatter_ratio=truncated))
