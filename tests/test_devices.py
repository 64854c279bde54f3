"""Notes on where JAX runs."""

from dataclasses import replace

import jax
import pytest

from bayes_irsl.devices import Machine, advice, this_machine

USUAL = Machine("cpu", "cpu", devices=4, cores=8, accelerators=())


@pytest.fixture(autouse=True)
def _no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)


@pytest.mark.parametrize(
    ("machine", "cells", "told"),
    [
        (USUAL, 10**6, []),
        (replace(USUAL, devices=1, cores=1), 10**6, []),
        (replace(USUAL, devices=1), 10, ["one device for 8 cores"]),
        (replace(USUAL, devices=1, cores=2), 10, ["set JAX_NUM_CPU_DEVICES=2"]),
        (replace(USUAL, accelerators=("an NVIDIA GPU",)), 10**6, ["has an NVIDIA GPU, and JAX runs on the CPU"]),
        (replace(USUAL, accelerators=("an NVIDIA GPU",)), 10, []),
        (Machine("gpu", "NVIDIA A100-SXM4-80GB", 1, 8, ("an NVIDIA GPU",)), 10**6, []),
        (Machine("gpu", "NVIDIA RTX A3000 Laptop GPU", 1, 8, ("an NVIDIA GPU",)), 10**6, ["slow in double precision"]),
        (Machine("gpu", "NVIDIA GeForce RTX 4090", 1, 8, ("an NVIDIA GPU",)), 10**6, ["slow in double precision"]),
        (Machine("gpu", "NVIDIA H100", 1, 8, ("an NVIDIA GPU",)), 10, ["10 cells are few for NVIDIA H100"]),
    ],
)
def test_advice(machine: Machine, cells: int, told: list[str]) -> None:
    found = list(advice(machine, cells))
    assert len(found) == len(told)
    assert all(part in note for part, note in zip(told, found, strict=True))


def test_a_wish_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert not list(advice(replace(USUAL, accelerators=("a TPU",)), 10**6))


def test_this_machine_is_seen() -> None:
    machine = this_machine()
    assert machine.backend == jax.default_backend()
    assert machine.devices == jax.local_device_count()
    assert machine.cores >= 1
