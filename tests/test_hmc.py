"""Hamiltonian Monte Carlo against closed forms and against the reference engine."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from monte_carlo import standard_error

import bayes_irsl as bi
from bayes_irsl import designs, encoding
from bayes_irsl.choices import choose_engine
from bayes_irsl.engines import rounds
from bayes_irsl.engines.coordinates import Coordinates, Place, find
from bayes_irsl.engines.density import Density
from bayes_irsl.engines.hmc import HMC, _halton
from bayes_irsl.engines.nuts import NUTS
from bayes_irsl.engines.running import ALONE, Running
from bayes_irsl.engines.tuning import _slowness
from bayes_irsl.engines.whitening import FLATTEST, Whitening
from bayes_irsl.simulation import Truth
from irsl_models import likelihoods

SIZE = 12
SCALES = np.geomspace(0.2, 4.0, SIZE)


class Known(Density):
    """A density that is known instead of a model's."""

    def __init__(self) -> None:
        super().__init__(bi.Model(), (("u", (SIZE,)),))


class Gaussian(Known):
    """Independent but for the first two, which are correlated by 0.9."""

    covariance = np.diag(SCALES**2)
    covariance[0, 1] = covariance[1, 0] = 0.9 * SCALES[0] * SCALES[1]

    def __call__(self, arguments: Any, u: jax.Array) -> jax.Array:
        energy: jax.Array = 0.5 * arguments[0].strength * u @ jnp.linalg.solve(jnp.asarray(self.covariance), u)
        return energy


class Wall(Known):
    """A standard normal inside a quartic wall along the first coordinate."""

    def __call__(self, arguments: Any, u: jax.Array) -> jax.Array:
        return 0.5 * (u**2).sum() + (u[0] / 1.5) ** 4


class Table(NamedTuple):
    """The table of a density that needs none but to be told from its likeness in single precision.

    `error` is that of forces in single precision, as a share.
    """

    error: float = 0.0
    strength: float = 1.0

    def in_single(self) -> "Table":
        return self._replace(strength=1.0 - self.error)


def unwhitened_place(error: float = 0.0) -> Place:
    design: Any = Table(error)
    return Place(design, {}, jnp.zeros((0, SIZE), int), Whitening.none(jnp.zeros(SIZE)))


def drawn(
    engine: Any, coordinates: Coordinates, seed: int, running: Running = ALONE, *, error: float = 0.0
) -> dict[str, np.ndarray]:
    """Draws, with ``u`` beside ``z``."""
    with jax.enable_x64(True):
        place, found = rounds.sample(engine, coordinates, unwhitened_place(error), jax.random.key(seed), running)
        whitening = jax.tree.map(jnp.asarray, place.whitening)
        return {**found, "u": np.asarray(jax.vmap(jax.vmap(whitening))(jnp.asarray(found["z"])))}


def assert_from_the_gaussian(u: np.ndarray) -> None:
    """12 means, 12 variances and one covariance at four and a half standard errors: a false alarm in 6000 seeds."""
    np.testing.assert_array_less(abs(u.mean((0, 1))), 4.5 * standard_error(u))
    square = u**2
    np.testing.assert_array_less(abs(square.mean((0, 1)) - SCALES**2), 4.5 * standard_error(square))
    product = u[..., 0] * u[..., 1]
    assert abs(product.mean() - Gaussian.covariance[0, 1]) < 4.5 * standard_error(product)


@pytest.fixture(scope="module")
def gaussian() -> dict[str, np.ndarray]:
    """So short a warm-up that the coordinates stay as they are."""
    return drawn(HMC(draws=1500, warmup=99, chains=4), Coordinates(Gaussian()), seed=2)


def test_means_and_covariances_are_those_of_the_gaussian(gaussian: dict[str, np.ndarray]) -> None:
    assert gaussian["u"].shape == (4, 1500, SIZE)
    np.testing.assert_array_equal(gaussian["u"], gaussian["z"])
    assert_from_the_gaussian(gaussian["u"])


def test_forces_may_be_off_but_energies_are_not() -> None:
    """Forces off by a fifth cost acceptance, and change no distribution: ends are accepted by the true energy."""
    found = drawn(HMC(draws=1500, warmup=99), Coordinates(Gaussian()), seed=4, error=0.2)
    assert_from_the_gaussian(found["u"])
    with jax.enable_x64(True):
        potential = jax.vmap(jax.vmap(lambda u: Gaussian()((Table(),), u)))(jnp.asarray(found["u"]))
    # What is recorded with a draw is the energy before it: the potential of the draw before, and a momentum.
    kinetic = found["energy"][:, 1:] - np.asarray(potential)[:, :-1]
    assert kinetic.min() > 0.0
    assert abs(kinetic.mean() - SIZE / 2) < 4.5 * np.sqrt(SIZE / 2 / kinetic.size)


def test_slow_coordinates_ask_for_longer_trajectories() -> None:
    """Coordinates that turn by known angles: as far as a standard normal is 1.75."""
    angle = np.array([0.5, 1.0, 1.75, 3.0])
    rng = np.random.default_rng(6)
    start, other = rng.normal(size=(2, 4000, 4))
    end = 1.0 + np.cos(angle) * start + np.sin(angle) * other
    start = 1.0 + start
    pairs = np.stack([values.sum(0) for values in (start, end, start * end, start**2)])
    with jax.enable_x64(True):
        sums, weight = jnp.asarray(pairs), jnp.asarray(4000.0)
        slow, very_slow, fast = (float(_slowness(sums[:, kept], weight, 2.5)) for kept in ([1, 2, 3], [0], [3]))
    assert slow == pytest.approx(1.75, rel=0.05)
    assert (very_slow, fast) == (2.5, 1.0)


@pytest.mark.parametrize(
    "engine", [HMC(draws=1500, warmup=100), NUTS(draws=1000, warmup=100, chains=2)], ids=lambda engine: engine.name
)
def test_rounds_whiten_what_was_not(engine: Any) -> None:
    found = drawn(engine, Coordinates(Gaussian()), seed=3)
    assert_from_the_gaussian(found["u"])
    z = found["z"] / found["z"].std((0, 1))
    assert abs(np.cov(z.reshape(-1, SIZE).T) - np.eye(SIZE)).max() < 0.2
    # Nothing is taken for wider than it may be by the least curvature that is believed.
    widths = np.sqrt(np.maximum(np.linalg.eigvalsh(Gaussian.covariance) * FLATTEST, 1.0))
    np.testing.assert_allclose(np.sort(found["z"].std((0, 1))), widths, rtol=0.1)
    assert found["n_steps"].mean() < 10


@pytest.mark.parametrize(
    ("cells", "likelihood", "engine"),
    [
        (100_000, likelihoods.beta, "hmc"),
        (100_001, likelihoods.beta, "laplace"),
        (100_001, likelihoods.beta_binomial, "svi"),
    ],
)
def test_the_table_decides_on_the_engine(cells: int, likelihood: Any, engine: str) -> None:
    table: Any = SimpleNamespace(cells=range(cells))
    chosen, why = choose_engine(table, likelihood)
    assert chosen.name == engine
    assert why.startswith(f"engine {engine}: {cells:,} cells")


def test_the_warm_up_learns_scales_and_a_long_enough_trajectory(gaussian: dict[str, np.ndarray]) -> None:
    assert not gaussian["diverging"].any()
    assert 0.7 < gaussian["acceptance_rate"].mean() < 0.99
    effective = gaussian["z"].var((0, 1)) / standard_error(gaussian["z"]) ** 2
    # Scales differ twentyfold: without learning them the widest coordinates would be followed for a fraction.
    assert effective.min() > 1000
    assert gaussian["n_steps"].mean() < 30


def test_jitters_fill_the_unit_interval() -> None:
    assert _halton(0, 4).tolist() == [0.5, 0.25, 0.75, 0.125]
    assert np.histogram(_halton(3, 64), bins=8, range=(0, 1))[0].tolist() == [8] * 8


def test_starts_far_above_typical_points_are_pulled_in() -> None:
    """Points beyond the wall come nearer, the others stay."""
    z = jnp.zeros((2, SIZE)).at[0, :3].set(jnp.asarray([0.5, 1.0, -1.0])).at[1, 0].set(40.0)
    found = np.asarray(Coordinates(Wall()).pulled_in(unwhitened_place(), z))
    np.testing.assert_array_equal(found[0], z[0])
    assert found[1].tolist() == [2.5, *[0.0] * (SIZE - 1)]


def test_hmc_and_nuts_agree(fit: bi.Fit, truth: Truth) -> None:
    found = bi.fit(bi.Model(), truth.responses, HMC(draws=600, warmup=300), x="x", group="group", seed=1)
    for name in ("ability", "difficulty", "discrimination", "slope", "scatter", "precision"):
        here, there = found.posterior[name], fit.posterior[name]
        apart = abs((here.mean(("chain", "draw")) - there.mean(("chain", "draw"))).to_numpy())
        # 62 comparisons at four and a half standard errors: a false alarm in 2000 runs.
        bound = 4.5 * np.hypot(standard_error(here), standard_error(there))
        np.testing.assert_array_less(apart, bound, err_msg=name)


def test_a_model_is_traced_once_for_all_programs(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracing a model takes seconds; programs that find coordinates and sample them share one trace of its density."""
    traced: list[None] = []

    def counted(design: Any) -> Any:
        traced.append(None)
        return bi.likelihoods.beta(design)

    model = bi.Model(trend=bi.trends.none, likelihood=counted)
    cells = truth.responses.cells
    with jax.enable_x64(True):
        population = encoding.population(cells, truth.responses.lms, truth.responses.items, None, ())
        design = jax.tree.map(jnp.asarray, designs.observed(model, population, cells))
        coordinates, place = find(model, design, 0)
        once = len(traced)
        z = jnp.zeros((2, coordinates.size))
        coordinates.whitened_at(place, z)
        coordinates.potentials(place, z)
        coordinates.gradients(place, z)
        jax.jit(jax.grad(lambda z: coordinates.potential(place, z)))(z[0])
    assert len(traced) == once
