"""`bayes-irsl fit`: from tables to a saved fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cyclopts.types import NonNegativeFloat, PositiveInt

from bayes_irsl.cli.output import FIT_ENDINGS, check_target, say, tell
from bayes_irsl.cli.showing import show_diagnostics, show_fit
from bayes_irsl.cli.tables import AS_WRITTEN, Tables
from bayes_irsl.cli.words import (
    Probability,
    Seed,
    Words,
    curve_of,
    engine_of,
    likelihood_of,
    model_of,
    one_axis,
    trend_of,
    with_settings,
)
from bayes_irsl.errors import gathered

EXAMPLE = (
    "Example: bayes-irsl fit scores.csv --lms lms.csv --x flops --group family --trend power "
    '--prior.curvature "HalfNormal(0.2)" --out fit.nc'
)


def fit(
    responses: Path,
    /,
    *,
    out: Path,
    tables: Tables = AS_WRITTEN,
    x: Words = (),
    group: Words = (),
    trend: str | None = None,
    curve: str = "2pl",
    likelihood: str = "auto",
    prior: dict[str, str] | None = None,
    engine: str | None = None,
    draws: PositiveInt | None = None,
    chains: PositiveInt | None = None,
    warmup: PositiveInt | None = None,
    target_accept: Probability | None = None,
    seed: Seed = 0,
    resume: bool = False,
    checkpoint_every: NonNegativeFloat = 10.0,
    overwrite: bool = False,
) -> int:
    """Fit a model to responses and save it.

    Parameters
    ----------
    responses : Path
        Table of responses: lm, item, score; or lm, item, successes, trials.
    out : Path
        File for the fit, ending in .nc.
    tables : Tables
        How the tables are written and read.
    x : tuple of str
        Scaling variable, a column of the LMs: NAME[:log10|linear|date]. Without it there is no trend.
    group : tuple of str
        Columns of the LMs that group them.
    trend : str or None
        none, linear, power or random_walk; by default random_walk over dates and linear otherwise.
    curve : str
        1pl, 2pl or 3pl.
    likelihood : str
        auto, bernoulli, beta, beta_binomial, binomial or ordered_beta.
    prior : dict of str to str
        Prior of one parameter, by its name: --prior.drift_scale "HalfNormal(0.5)".
    engine : str or None
        hmc, laplace, nuts or svi; chosen by the size of the table if not given.
    draws : int or None
        Posterior draws of each chain.
    chains : int or None
        Chains of hmc or nuts.
    warmup : int or None
        Steps with which each chain of hmc or nuts adapts, before its draws.
    target_accept : float or None
        Acceptance that hmc or nuts aims at: nearer to 1 takes smaller steps.
    seed : int
        Same seed, same fit.
    resume : bool
        Go on with a run of this command that was stopped: its checkpoints lie in OUT.checkpoint until the fit is saved.
    checkpoint_every : float
        Seconds between two checkpoints, at least.
    overwrite : bool
        Replace OUT if it is there, once the new fit is complete. A run that goes on was allowed to when it began.
    """
    from bayes_irsl.checkpoints import check_folder, is_unfinished, remove

    checkpoint = out.with_name(out.name + ".checkpoint")
    goes_on = resume and is_unfinished(checkpoint)
    _, axis, chosen_trend, chosen_curve, chosen_likelihood, chosen_engine, _ = gathered(
        lambda: check_target(out, FIT_ENDINGS, tables.files(responses), overwrite=overwrite or goes_on),
        lambda: one_axis(x),
        lambda: trend_of(trend, x),
        lambda: curve_of(curve),
        lambda: likelihood_of(likelihood),
        lambda: engine_of(engine),
        lambda: check_folder(checkpoint, resume=resume),
    )

    from bayes_irsl.devices import advice, this_machine
    from bayes_irsl.fitting import fit as fit_model
    from bayes_irsl.storage import save

    table = tables.read(responses)
    settings = {"draws": draws, "chains": chains, "warmup": warmup, "target_accept": target_accept}
    (model, notes), run = gathered(
        lambda: model_of(chosen_trend, chosen_curve, chosen_likelihood, prior or {}, table, axis, tables.missing_x),
        lambda: with_settings(chosen_engine, settings, table, chosen_likelihood),
    )
    if resume and not goes_on:
        tell(f"nothing to resume: no unfinished run lies in {checkpoint}, so the fit begins anew")
    for note in advice(this_machine(), len(table.cells)):
        tell(f"note: {note}")
    with telling_how_to_go_on(checkpoint):
        found = fit_model(
            model,
            table,
            run,
            x=axis,
            group=group,
            missing_x=tables.missing_x,
            seed=seed,
            progress=sys.stderr.isatty(),
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
            notes=notes,
        )
        save(found, out)
    remove(checkpoint)
    show_fit(found)
    failed = show_diagnostics(found)
    say(f"saved: {out}" + (", though a diagnostic failed: see the table" if failed else ""))
    return 1 if failed else 0


@contextmanager
def telling_how_to_go_on(checkpoint: Path) -> Iterator[None]:
    """Give an interrupt a message, where there is something to go on from."""
    try:
        yield
    except KeyboardInterrupt:
        if not checkpoint.exists():
            raise
        raise KeyboardInterrupt(
            f"interrupted; the run is kept in {checkpoint}: the same command with --resume goes on with it"
        ) from None
