"""Words of the command line that stand for values: pairs, parts of a model, engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from bayes_irsl.errors import Fault, InputError
from bayes_irsl.seeds import LARGEST

if TYPE_CHECKING:
    from numpyro.distributions import Distribution

    from bayes_irsl.covariates import MissingX
    from bayes_irsl.engines.base import Engine
    from bayes_irsl.responses import Responses
    from irsl_models import Model
    from irsl_models.curves import Curve
    from irsl_models.model import Part

Words = Annotated[tuple[str, ...], Parameter(consume_multiple=True, show_default=False)]
"""Several words after one option."""
Probability = Annotated[float, Parameter(validator=Number(gt=0, lt=1))]
Seed = Annotated[int, Parameter(validator=Number(gte=0, lte=LARGEST))]


def pairs(option: str, words: Iterable[str], form: str, *, last: bool = False, example: str = "") -> dict[str, str]:
    """Split words of the form ``NAME=VALUE``.

    Parameters
    ----------
    option : str
        Option they were given to.
    words : iterable of str
        The words.
    form : str
        How a word is to be written.
    last : bool
        Split at the last equals sign instead of the first: the name may hold one.
    example : str
        Words that are right, for the message.

    Raises
    ------
    InputError
        If a word has another form, or a name is given twice.

    Examples
    --------
    >>> pairs("columns", ["lm=subject", "score=correct"], "NEW=OLD")
    {'lm': 'subject', 'score': 'correct'}
    """
    found: dict[str, str] = {}
    faults = []
    for word in words:
        name, sign, value = word.rpartition("=") if last else word.partition("=")
        if not sign or not name:
            shown = f", such as {example}" if example else ""
            way_out = f"Write {form}{shown}; other words, such as file names, go before the options"
            faults.append(Fault(f"option {option}", "option", f"a word is not {form}", way_out, word))
        elif name in found:
            faults.append(Fault(f"option {option}", "option", "a name is given twice", "Give it once", name))
        else:
            found[name] = value
    if faults:
        raise InputError(*faults)
    return found


def part(option: str, catalogue: Mapping[str, Any], word: str, later: Iterable[str] = ()) -> Any:
    """Look a word up.

    Parameters
    ----------
    option : str
        Option it was given to.
    catalogue : mapping of str to object
        What there is.
    word : str
        The word.
    later : iterable of str
        Words that will mean something in a later version.

    Raises
    ------
    InputError
        If the word is none of them; the message lists those that exist.
    """
    if word in catalogue:
        return catalogue[word]
    rule = "it is not offered yet" if word in later else "the option does not know this word"
    raise InputError(Fault(f"option {option}", "option", rule, f"Give one of {', '.join(catalogue)}", word))


def one_axis(words: Sequence[str]) -> str | None:
    """Return the one scaling variable, if there is one."""
    if len(words) > 1:
        rule = "one scaling variable for now"
        raise InputError(Fault("option x", "option", rule, "Give --x one NAME[:how]", " ".join(words)))
    return words[0] if words else None


def trend_of(word: str | None, x: Sequence[str]) -> Part | None:
    """Look a trend up; None where it is left open."""
    from bayes_irsl import names

    if word is None:
        return None
    trend: Part = part("trend", names.TRENDS, word, later=("chinchilla", "broken", "gp"))
    if not x and word != "none":
        rule = "a trend needs a scaling variable"
        raise InputError(Fault("option trend", "option", rule, "Give --x NAME, or take --trend none", word))
    return trend


def curve_of(word: str) -> Curve:
    """Look a curve up."""
    from bayes_irsl import names

    curve: Curve = part("curve", names.CURVES, word, later=("4pl",))
    return curve


def likelihood_of(word: str) -> Part | None:
    """Look a likelihood up; None where it is left open."""
    from bayes_irsl import names

    likelihood: Part | None = part("likelihood", {"auto": None, **names.LIKELIHOODS}, word)
    return likelihood


def engine_of(word: str | None) -> Engine | None:
    """Look an engine up, with its default settings; None where it is left open."""
    from bayes_irsl.engines.hmc import HMC
    from bayes_irsl.engines.laplace import Laplace
    from bayes_irsl.engines.nuts import NUTS
    from bayes_irsl.engines.svi import SVI

    if word is None:
        return None
    engine: Engine = part("engine", {"hmc": HMC, "laplace": Laplace, "nuts": NUTS, "svi": SVI}, word)()
    return engine


def model_of(
    trend: Part | None,
    curve: Curve,
    likelihood: Part | None,
    prior: Mapping[str, str],
    responses: Responses,
    x: str | None,
    missing_x: MissingX,
) -> tuple[Model, list[str]]:
    """Put a model together, and choose from the data what was left open.

    Returns
    -------
    Model
        Its likelihood is left to the fit unless some prior is given: which priors there are depends on it.
    list of str
        What was chosen here, and why.
    """
    from bayes_irsl import choices, covariates
    from irsl_models import Model

    notes = []
    if trend is None:
        axis = None if x is None else covariates.fit_axis(responses, x, missing_x)[0]
        trend, note = choices.choose_trend(axis)
        notes.append(note)
    if likelihood is None and prior:
        likelihood, note = choices.choose_likelihood(responses)
        notes.append(note)
    return with_priors(Model(trend=trend, curve=curve, likelihood=likelihood), prior), notes


def with_priors(model: Model, texts: Mapping[str, str]) -> Model:
    """Exchange priors for those written as text, by the name of their site."""
    from irsl_models import priors

    faults = []
    known = model.keywords()
    found: dict[str, Distribution] = {}
    for name, text in texts.items():
        if name not in known:
            way_out = f"The model has {', '.join(sorted(known))}"
            faults.append(Fault(f"option prior.{name}", "option", "the model has no such prior", way_out, name))
            continue
        try:
            found[name] = priors.from_text(text)
            model.with_priors(**{name: found[name]})
        except (TypeError, ValueError) as problem:
            way_out = "Write NAME(NUMBERS), such as HalfNormal(0.5)"
            faults.append(Fault(f"option prior.{name}", "option", str(problem).rstrip("."), way_out, text))
    if faults:
        raise InputError(*faults)
    return model.with_priors(**found)


def with_settings(
    engine: Engine | None, settings: Mapping[str, Any], responses: Responses, likelihood: Part | None
) -> Engine | None:
    """Change settings of an engine; None where nothing was asked for, and the fit chooses.

    Parameters
    ----------
    engine : Engine or None
        By default the one chosen by the table.
    settings : mapping of str to object
        Settings by name; None for those that were not given.
    responses : Responses
        The table it will run on.
    likelihood : callable or None
        The likelihood of the model, if one was named.
    """
    from bayes_irsl.choices import choose_engine

    given = {name: value for name, value in settings.items() if value is not None}
    if not given:
        return engine
    chosen: Any = choose_engine(responses, likelihood)[0] if engine is None else engine
    faults = [
        Fault(
            f"option {name.replace('_', '-')}",
            "option",
            f"{chosen.name} has no such setting",
            "Leave it out, or name an engine that has it (--engine nuts)",
            str(value),
        )
        for name, value in given.items()
        if not hasattr(chosen, name)
    ]
    if faults:
        raise InputError(*faults)
    changed: Engine = replace(chosen, **given)
    return changed
