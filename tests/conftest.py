"""One simulated table and one fit of it, shared by all tests and all worker processes."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import settings

import bayes_irsl as bi
from bayes_irsl.simulation import Truth

# A busy machine is no fault: the first example of a test may wait for an import.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def truth() -> Truth:
    """Beta scores of 24 LMs in two groups to 12 items of three benchmarks; a tenth of the cells is missing."""
    model = bi.Model(likelihood=bi.likelihoods.beta)
    return bi.simulate(model, n_lms=24, n_items=12, n_benchmarks=3, n_groups=2, missing=0.1, seed=5)


@pytest.fixture(scope="session")
def fit(truth: Truth, tmp_path_factory: pytest.TempPathFactory) -> bi.Fit:
    """The posterior of `truth`. The first worker that asks makes it, the others wait and load it."""
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    base = tmp_path_factory.getbasetemp()
    path = (base.parent if parallel else base) / "session-fit.nc"
    if not _first(path.with_suffix(".lock")):
        return _wait(path)
    engine = bi.NUTS(draws=300, warmup=300, chains=2)
    try:
        made = bi.fit(bi.Model(), truth.responses, engine, x="x", group="group", seed=1)
        bi.save(made, path)
    except BaseException:
        path.with_suffix(".failed").touch()
        raise
    return made


def _first(lock: Path) -> bool:
    try:
        lock.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _wait(path: Path) -> bi.Fit:
    """Wait for the file, which appears only when it is complete."""
    for _ in range(6000):
        if path.exists():
            return bi.load(path)
        if path.with_suffix(".failed").exists():
            pytest.fail("the session's fit failed in another worker")
        time.sleep(0.1)
    pytest.fail("the session's fit was not made within ten minutes")
