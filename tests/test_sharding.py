"""Items spread over devices and processes have the density and gradient they have on one."""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec
from numpyro.distributions import biject_to
from numpyro.infer.util import potential_energy

import bayes_irsl as bi
from bayes_irsl import encoding
from bayes_irsl.engines.base import sampled, structure
from bayes_irsl.sharding import in_blocks, mesh_of_items, spread
from bayes_irsl.studies import kernel
from irsl_models import Design

N_LMS, N_ITEMS = 5, 7
MODEL = bi.Model(curve=bi.curves.three_pl, likelihood=bi.likelihoods.beta)


def table(missing: int, n_items: int = N_ITEMS) -> Design:
    """Scores of LMs in a trend to items of two benchmarks."""
    people = encoding.Population(
        lms=tuple(f"lm{i}" for i in range(N_LMS)),
        items=tuple(f"item{j}" for j in range(n_items)),
        benchmarks=("easy", "hard"),
        benchmark=np.arange(n_items) % 2,
        chance=np.full(n_items, 0.25),
        x=np.linspace(-1.5, 1.5, N_LMS),
        groups={},
        answered=np.full((N_LMS, 2), 3),
    )
    rng = np.random.default_rng(missing)
    cells = np.sort(rng.permutation(N_LMS * n_items)[missing:])
    lm, item = np.divmod(cells, n_items)
    return encoding.design(people, lm, item, score=rng.uniform(0.05, 0.95, len(cells)))


def point(design: Design) -> dict[str, np.ndarray]:
    """Some value of every parameter."""
    sites = structure(MODEL, design)
    shapes = {
        name: biject_to(sites[name]["fn"].support).inverse_shape(sites[name]["value"].shape)
        for name in sampled(MODEL, design)
    }
    return {name: 0.3 * np.random.default_rng(len(name)).normal(size=shape) for name, shape in shapes.items()}


def energy(design: Design, at: Any) -> Any:
    return potential_energy(MODEL, (design,), {}, at)


@pytest.mark.parametrize(("n_items", "missing"), [(7, 9), (8, 0)])
@pytest.mark.parametrize("devices", [1, 2])
def test_blocks_of_items_are_the_same_table(n_items: int, missing: int, devices: int) -> None:
    """Summed one after the other, or each by a device of its own; items that divide evenly and that do not."""
    with jax.enable_x64(True):
        whole = table(missing, n_items)
        at = point(whole)
        value, slope = jax.jit(jax.value_and_grad(energy, 1))(whole, at)
        if devices == 1:
            found = jax.jit(jax.value_and_grad(energy, 1))(in_blocks(whole, 2), at)
        else:
            mesh = mesh_of_items(2)
            with jax.set_mesh(mesh):
                found = jax.jit(jax.value_and_grad(energy, 1))(spread(whole, mesh), at)
    np.testing.assert_allclose(found[0], value, rtol=1e-13)
    for name in slope:
        np.testing.assert_allclose(found[1][name], slope[name], rtol=1e-10, atol=1e-12, err_msg=name)


def test_curvature_of_items_on_two_devices() -> None:
    with jax.enable_x64(True):
        whole = table(9)
        at = point(whole)
        along = jax.tree.map(np.ones_like, at)

        def turned(design: Design) -> Any:
            return jax.jit(lambda at, along: jax.jvp(partial(jax.grad(energy, 1), design), (at,), (along,))[1])(
                at, along
            )

        expected, mesh = turned(jax.tree.map(jnp.asarray, whole)), mesh_of_items(2)
        with jax.set_mesh(mesh):
            found = turned(spread(whole, mesh))
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("shape", [(1, 2), (2, 1)])
def test_chains_and_items_may_share_a_mesh(shape: tuple[int, int]) -> None:
    """As in HMC: chains by devices, together on each, and the items of each chain by devices again."""
    with jax.enable_x64(True):
        design, at = kernel.table(6, 8)
        many = jax.tree.map(lambda values: jnp.stack([values, 0.9 * values]), at)

        def chains(design: Design, many: Any) -> Any:
            return jax.vmap(jax.value_and_grad(kernel.ours, 1), (None, 0))(design, many)

        expected = jax.jit(chains)(design, many)
        with jax.set_mesh(jax.make_mesh(shape, ("chain", "item"), axis_types=(AxisType.Auto, AxisType.Auto))):
            one, own = PartitionSpec(), PartitionSpec("chain")  # type: ignore[no-untyped-call]
            by_device = jax.shard_map(chains, in_specs=(one, own), out_specs=own, axis_names={"chain"}, check_vma=False)
            found = jax.jit(by_device)(in_blocks(design, 2), many)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_devices_hold_their_own_items_alone_and_send_sums() -> None:
    mesh = mesh_of_items(2)
    with jax.enable_x64(True), jax.set_mesh(mesh):
        design = spread(table(0, n_items=8), mesh)
        assert design.score is not None
        halves = [np.asarray(shard.data) for shard in design.score.addressable_shards]
        np.testing.assert_array_equal(
            halves[1].reshape(N_LMS, 4), np.asarray(table(0, 8).score).reshape(N_LMS, 8)[:, 4:]
        )
        program = jax.jit(jax.value_and_grad(energy, 1)).lower(design, point(table(0, 8))).compile().as_text()
    # Scores, their logs and what is made of them have 20 entries on each device; no such array is sent.
    assert program
    sent = [line for line in program.splitlines() if " all-gather(" in line or " all-to-all(" in line]
    assert not [line for line in sent if f"[{N_LMS * 4}]" in line or f"[{N_LMS},4]" in line or f"[{N_LMS},8]" in line]


def test_only_whole_tables_are_cut() -> None:
    with pytest.raises(ValueError, match="by rows, in one block"):
        in_blocks(in_blocks(table(0), 2), 2)


PROCESS = """
import sys
from dataclasses import replace
import jax
jax.distributed.initialize(sys.argv[1], num_processes=2, process_id=int(sys.argv[2]))
jax.config.update("jax_enable_x64", True)
import numpy as np
from test_sharding import energy, halved, point, table
from bayes_irsl.sharding import mesh_of_items, spread

mesh = mesh_of_items()
assert jax.process_count() == 2 and mesh.size == 2
with jax.set_mesh(mesh):
    design = spread(halved(table(9), int(sys.argv[2])), mesh)
    assert len(design.score.addressable_shards) == 1
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    value, slope = jax.jit(jax.value_and_grad(energy, 1), out_shardings=whole)(design, point(table(9)))
np.savez(sys.argv[3], value=np.asarray(value), **{name: np.asarray(part) for name, part in slope.items()})
"""


def halved(design: Design, half: int) -> Design:
    """The table of a process that has read the responses of its own items alone."""
    own = (np.arange(N_LMS * N_ITEMS) % N_ITEMS < 4) == (half == 0)
    columns: dict[str, Any] = {
        name: np.where(own, getattr(design, name), np.nan) for name in ("score", "log_score", "log_rest")
    }
    return replace(design, **columns)


def test_two_processes_are_one(tmp_path: Path) -> None:
    """Each has a part of the items; they find one another on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    env = os.environ | {
        "JAX_NUM_CPU_DEVICES": "1",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    files = [tmp_path / f"{rank}.npz" for rank in range(2)]
    words = [[sys.executable, "-c", PROCESS, address, str(rank), str(file)] for rank, file in enumerate(files)]
    running = [
        subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) for one in words
    ]
    try:
        told = [one.communicate(timeout=300)[1] for one in running]
    finally:
        for one in running:
            one.kill()
    assert [one.returncode for one in running] == [0, 0], told
    with jax.enable_x64(True):
        whole = table(9)
        value, slope = jax.jit(jax.value_and_grad(energy, 1))(whole, point(whole))
    for file in files:
        found = np.load(file)
        np.testing.assert_allclose(found["value"], value, rtol=1e-13)
        for name in slope:
            np.testing.assert_allclose(found[name], slope[name], rtol=1e-10, atol=1e-12, err_msg=name)
