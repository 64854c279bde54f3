"""Programs that are kept on disk by what they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jax.experimental.compilation_cache import compilation_cache

import bayes_irsl as bi
from bayes_irsl import programs
from bayes_irsl.programs import program
from irsl_models import special

X = np.linspace(0.5, 3.0, 7)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty cache, and nothing in memory."""
    programs.clear()
    before = jax.config.jax_compilation_cache_dir
    for place in (str(tmp_path), before):
        jax.config.update("jax_compilation_cache_dir", place)  # type: ignore[no-untyped-call]
        compilation_cache.reset_cache()
        if place != before:
            yield tmp_path / "programs"


def kept(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_a_program_is_not_traced_again(folder: Path) -> None:
    first, second = program()(special.trigamma), program()(special.trigamma)
    traced: Any = second._jitted
    expected = first(X)
    assert len(kept(folder)) == 1
    programs._IN_MEMORY.clear()
    np.testing.assert_array_equal(second(X), expected)
    assert traced._cache_size() == 0
    np.testing.assert_array_equal(second(X), special.trigamma(X))
    assert len(kept(folder)) == 1


def test_what_is_the_same_shares_a_program_and_all_can_be_let_go(folder: Path) -> None:
    first, second = program()(special.trigamma), program()(special.trigamma)
    for run in (first, second):
        run(X)
    assert list(first._ready.values()) == list(second._ready.values()) == list(programs._IN_MEMORY.values())
    programs.clear()
    assert not programs._IN_MEMORY
    assert not first._ready
    assert not second._ready
    assert len(kept(folder)) == 1


def test_programs_of_other_shapes_numbers_and_precision_are_others(folder: Path) -> None:
    run = program(static=1)(jnp.full)
    for shape, value in (((2,), 1.0), ((3,), 1.0), ((3,), np.ones(1))):
        np.testing.assert_array_equal(run(shape, value), np.full(shape, 1.0))
    assert len(kept(folder)) == 3
    with jax.enable_x64(not jax.config.jax_enable_x64):
        run((3,), np.ones(1))
    assert len(kept(folder)) == 4


def test_what_has_no_name_is_traced(folder: Path) -> None:
    offset = 2.0
    assert float(program()(lambda x: x + offset)(1.0)) == 3.0
    assert not kept(folder)


def test_a_file_that_was_cut_short_is_made_again(folder: Path) -> None:
    expected = program()(special.log_gamma)(X)
    (name,) = kept(folder)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    programs._IN_MEMORY.clear()
    compilation_cache.reset_cache()
    for path in folder.parent.glob("jit_*"):
        path.unlink()
    np.testing.assert_array_equal(program()(special.log_gamma)(X), expected)
    assert len((folder / name).read_bytes()) == len(whole)


@pytest.mark.parametrize(
    "other",
    [
        bi.Model(trend=bi.trends.none),
        bi.Model(curve=bi.curves.one_pl),
        bi.Model(likelihood=bi.likelihoods.beta),
        bi.Model().with_priors(group_scale=dist.HalfNormal(0.2)),
        bi.Model().with_priors(group_scale=dist.HalfNormal(0.3)),
        bi.Model().with_priors(group_scale=dist.Exponential(0.3)),
    ],
)
def test_models_that_differ_are_known_by_something_else(other: bi.Model) -> None:
    assert programs._told(other) != programs._told(bi.Model())
    assert programs._told(other) == programs._told(other.with_priors())


def test_a_function_of_a_notebook_is_not_known() -> None:
    def trend(*arguments: Any) -> Any:
        return bi.trends.linear(*arguments)

    with pytest.raises(programs._Unknown):
        programs._told(bi.Model(trend=trend))


def test_a_function_that_took_the_place_of_another_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    linear = bi.trends.linear
    monkeypatch.setattr("irsl_models.trends.linear", bi.trends.none)
    with pytest.raises(programs._Unknown):
        programs._told(linear)
