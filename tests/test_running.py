"""Runs that are stopped go on, and end with the same draws to the last bit."""

import io
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_hmc import SCALES, Gaussian, assert_from_the_gaussian, drawn

import bayes_irsl as bi
from bayes_irsl.checkpoints import Checkpoint, begin_or_resume, check_folder, remove
from bayes_irsl.engines import whitened
from bayes_irsl.engines.coordinates import Coordinates, Place
from bayes_irsl.engines.density import Density
from bayes_irsl.engines.hmc import HMC
from bayes_irsl.engines.nuts import NUTS
from bayes_irsl.engines.running import MOST, Running, Steps
from bayes_irsl.engines.whitening import Whitening
from bayes_irsl.progress import Progress, watching

RUN = {"seed": 1, "data": "abc"}
WARMUP, DRAWS = 40, 290


class Killed(Exception):
    """Stands for the end of the process."""


class Chaos:
    """A map that forgets nothing: one step too many, or a bit lost, and all that follows differs."""

    def __init__(self, at_step: Callable[[int], None] = lambda _: None) -> None:
        self.at_step = at_step
        self.began_at: int | None = None

    @property
    def steps(self) -> Steps:
        return Steps(WARMUP, DRAWS, lambda: {"x": np.array([0.3, 0.6]), "n": np.array(0)}, self.advance)

    def advance(self, state: Any, first: int, count: int) -> Any:
        assert (count <= MOST) & (first + count <= WARMUP or first >= WARMUP)
        self.began_at = first if self.began_at is None else self.began_at
        x, n = state["x"], state["n"]
        assert n == first
        record = {"x": np.zeros((MOST, 2)), "diverging": np.zeros((MOST, 2), dtype=bool)}
        for place in range(count):
            self.at_step(first + place)
            x, n = 3.9 * x * (1.0 - x), n + 1
            record["x"][place], record["diverging"][place] = x, x > 0.97
        return {"x": x, "n": n}, record


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, np.ndarray]:
    return Running().run(Chaos().steps)[1]


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "run", RUN, every=0.0)


def kill_after(chunks: int) -> Callable[[Progress], None]:
    left = iter(range(chunks))

    def watch(_: Progress) -> None:
        if next(left, None) is None:
            raise Killed

    return watch


def run_killed(kept: Checkpoint, chunks: int) -> None:
    with pytest.raises(Killed):
        Running(kill_after(chunks), kept).run(Chaos().steps)


def assert_goes_on(kept: Checkpoint, undisturbed: dict[str, np.ndarray]) -> int:
    """Go on to the end, and return the step at which that began."""
    chaos = Chaos()
    _, found = Running(checkpoint=kept).run(chaos.steps)
    for name in undisturbed:
        np.testing.assert_array_equal(found[name], undisturbed[name])
    assert chaos.began_at is not None
    return chaos.began_at


def test_all_steps_are_taken_once(undisturbed: dict[str, np.ndarray]) -> None:
    x, kept = np.array([0.3, 0.6]), []
    for _ in range(WARMUP + DRAWS):
        x = 3.9 * x * (1.0 - x)
        kept.append(x)
    np.testing.assert_array_equal(undisturbed["x"], np.array(kept[WARMUP:]))


@pytest.mark.parametrize("chunks", range(12))
def test_a_run_killed_after_any_chunk_goes_on_from_there(
    chunks: int, kept: Checkpoint, undisturbed: dict[str, np.ndarray]
) -> None:
    run_killed(kept, chunks)
    (done,) = [position.done for position in [kept.latest(WARMUP)] if position]
    assert assert_goes_on(kept, undisturbed) == done > 0


@pytest.mark.parametrize("writes", range(12))
def test_a_run_killed_before_any_write_goes_on(
    writes: int, kept: Checkpoint, undisturbed: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among them before the first one, and between the draws and the state that follows them."""
    left, write = iter(range(writes)), Checkpoint.write

    def dying(self: Checkpoint, name: str, arrays: Any) -> None:
        if next(left, None) is None:
            raise Killed
        write(self, name, arrays)

    monkeypatch.setattr(Checkpoint, "write", dying)
    with pytest.raises(Killed):
        Running(checkpoint=kept).run(Chaos().steps)
    monkeypatch.undo()
    assert_goes_on(kept, undisturbed)


def test_a_finished_run_gives_its_draws_again(kept: Checkpoint, undisturbed: dict[str, np.ndarray]) -> None:
    Running(checkpoint=kept).run(Chaos().steps)
    chaos = Chaos()
    np.testing.assert_array_equal(Running(checkpoint=kept).run(chaos.steps)[1]["x"], undisturbed["x"])
    assert chaos.began_at is None


def test_many_kills(kept: Checkpoint, undisturbed: dict[str, np.ndarray]) -> None:
    for _ in range(5):
        run_killed(kept, 4)
    assert assert_goes_on(kept, undisturbed) > WARMUP


@pytest.mark.parametrize("kind", ["state", "draws"])
@pytest.mark.parametrize("length", [0, 40, -1])
def test_of_a_file_cut_short_the_one_before_is_used(
    kind: str, length: int, kept: Checkpoint, undisturbed: dict[str, np.ndarray]
) -> None:
    run_killed(kept, 9)
    before, last = sorted(kept.folder.glob("state-*"))
    newest = max(kept.folder.glob(f"{kind}-*"))
    newest.write_bytes(newest.read_bytes()[:length])
    assert assert_goes_on(kept, undisturbed) == int(before.stem.split("-")[1]) < int(last.stem.split("-")[1])


def test_without_any_state_that_is_whole_a_run_begins_anew(
    kept: Checkpoint, undisturbed: dict[str, np.ndarray]
) -> None:
    run_killed(kept, 9)
    for path in kept.folder.glob("state-*"):
        content = bytearray(path.read_bytes())
        content[-100] ^= 1
        path.write_bytes(content)
    assert assert_goes_on(kept, undisturbed) == 0


def test_draws_are_written_once_and_two_states_are_kept(kept: Checkpoint) -> None:
    Running(checkpoint=kept).run(Chaos().steps)
    spans = [tuple(map(int, path.stem.split("-")[1:])) for path in sorted(kept.folder.glob("draws-*"))]
    assert [first for first, _ in spans] == [WARMUP, *(last for _, last in spans[:-1])]
    assert spans[-1][1] == WARMUP + DRAWS
    assert len(list(kept.folder.glob("state-*"))) == 2


def test_between_two_checkpoints_lies_some_time(tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path / "run", RUN, every=1e6)
    Running(checkpoint=kept).run(Chaos().steps)
    names = sorted(path.name for path in kept.folder.iterdir())
    assert names == ["draws-000000040-000000330.arrays", "run.json", "state-000000330.arrays"]


def test_a_file_of_another_run_is_not_read(kept: Checkpoint) -> None:
    kept.write("start", {"a": np.ones(2)})
    assert Checkpoint(kept.folder, {**RUN, "seed": 2}).read("start") is None
    assert kept.read("start") is not None


# The folder


def test_another_run_is_refused_with_what_differs(kept: Checkpoint) -> None:
    kept.save(1, [np.zeros(1)], {}, 0)
    kept.check()
    with pytest.raises(bi.InputError) as told:
        Checkpoint(kept.folder, {"seed": 2, "data": "abc", "groups": ["family"]}).check()
    assert str(told.value) == (
        f"checkpoint {kept.folder}: it holds another run: groups was None and is ['family']; seed was 1 and is 2. "
        "Ask for that run again, name another folder, or delete this one to begin anew."
    )
    with pytest.raises(bi.InputError, match=r"it holds another run: the table differs. Ask for"):
        Checkpoint(kept.folder, {"seed": 1, "data": "abd"}).check()


def test_a_folder_of_other_things_is_neither_used_nor_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    check_folder(folder, resume=False)
    (folder / "thesis.tex").touch()
    for resume in (True, False):
        with pytest.raises(bi.InputError, match=r"it is no folder of checkpoints\. Name another one"):
            check_folder(folder, resume=resume)
    with pytest.raises(bi.InputError, match="there is no folder"):
        begin_or_resume(tmp_path / "none" / "run", RUN, 0.0, resume=False)
    remove(folder)
    assert (folder / "thesis.tex").exists()


def test_what_a_kill_left_of_a_file_is_in_nobodys_way(kept: Checkpoint) -> None:
    kept.folder.mkdir()
    for name in (".run.1234.json", ".state-000000001.1234.arrays"):
        (kept.folder / name).touch()
    check_folder(kept.folder, resume=False)
    assert kept.latest(WARMUP) is None
    remove(kept.folder)
    assert not kept.folder.exists()


def test_an_earlier_run_is_neither_used_nor_lost_unasked(kept: Checkpoint) -> None:
    kept.write("start", {})
    with pytest.raises(bi.InputError, match=r"an earlier run lies there\. Go on with it \(resume=True, --resume\)"):
        check_folder(kept.folder, resume=False)
    check_folder(kept.folder, resume=True)
    remove(kept.folder)
    assert not kept.folder.exists()


# Signals


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def answered(request: pytest.FixtureRequest) -> Iterator[int]:
    """A signal that Python answers with KeyboardInterrupt, whatever runs these tests."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


def test_a_signal_stops_a_run_once_its_steps_are_kept(
    answered: int, tmp_path: Path, undisturbed: dict[str, np.ndarray]
) -> None:
    kept = Checkpoint(tmp_path / "run", RUN, every=1e6)

    def at_step(step: int) -> None:
        if step == 60:
            signal.raise_signal(signal.Signals(answered))

    with pytest.raises(KeyboardInterrupt):
        Running(checkpoint=kept).run(Chaos(at_step).steps)
    assert signal.getsignal(answered) is signal.default_int_handler
    assert assert_goes_on(kept, undisturbed) > 60


def test_a_second_signal_is_answered_at_once(answered: int, kept: Checkpoint) -> None:
    reached = []

    def at_step(step: int) -> None:
        reached.append(step)
        if step in (3, 4):
            signal.raise_signal(signal.Signals(answered))

    chaos = Chaos(at_step)
    with pytest.raises(KeyboardInterrupt):
        Running().run(Steps(0, 10, chaos.steps.begin, lambda state, first, _: chaos.advance(state, first, 10)))
    assert reached[-1] == 4


def test_a_run_in_a_thread_of_its_own(undisturbed: dict[str, np.ndarray]) -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(Running().run(Chaos().steps)[1]))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0]["x"], undisturbed["x"])


# Progress


def test_progress_counts_steps_and_divergences(undisturbed: dict[str, np.ndarray]) -> None:
    seen: list[Progress] = []
    Running(seen.append).run(Chaos().steps)
    assert [progress.phase for progress in seen] == sorted([p.phase for p in seen], reverse=True)
    ends = {progress.phase: (progress.done, progress.total) for progress in seen}
    assert ends == {"warm-up": (WARMUP, WARMUP), "draws": (DRAWS, DRAWS)}
    assert seen[-1].divergences == undisturbed["diverging"].sum() > 0
    assert seen[-1].seconds_left == 0.0


def test_progress_after_a_kill_counts_what_was_before(kept: Checkpoint, undisturbed: dict[str, np.ndarray]) -> None:
    run_killed(kept, 9)
    seen: list[Progress] = []
    Running(seen.append, kept).run(Chaos().steps)
    assert seen[-1].divergences == undisturbed["diverging"].sum()


def test_a_line_is_written_over_and_taken_away() -> None:
    terminal = io.StringIO()
    with watching(True, terminal) as watch:
        watch(Progress("draws", 1, 300, divergences=1, seconds_left=3661.0))
        watch(Progress("x" * 1000))
    first, second, last = terminal.getvalue().split("\r")[1:]
    assert first == "draws 1 of 300, 1 divergence, 1:01:01 left\x1b[K"
    assert len(second) < 1000
    assert last == "\x1b[K"


# The samplers


@pytest.fixture(scope="module")
def gaussian() -> Coordinates:
    return Coordinates(Gaussian())


SAMPLERS = [
    HMC(draws=60, warmup=100, chains=2),
    NUTS(draws=60, warmup=100, chains=2),
    NUTS(draws=60, warmup=40, chains=3),
]


# Two devices: two chains take one each, three share one.
@pytest.mark.parametrize("engine", SAMPLERS, ids=lambda engine: f"{engine.name}-{engine.chains}")
def test_killed_samplers_end_with_the_same_draws(engine: Any, gaussian: Coordinates, tmp_path: Path) -> None:
    undisturbed = drawn(engine, gaussian, 3)
    for kills in ((0, 2, 4), (7, 2)):
        kept = Checkpoint(tmp_path / str(kills), RUN, every=0.0)
        for chunks in kills:
            with pytest.raises(Killed):
                drawn(engine, gaussian, 3, Running(kill_after(chunks), kept))
        found = drawn(engine, gaussian, 3, Running(checkpoint=kept))
        for name in undisturbed:
            np.testing.assert_array_equal(found[name], undisturbed[name])


@pytest.mark.parametrize("chains", [2, 4])
def test_nuts_draws_from_the_gaussian(chains: int, gaussian: Coordinates) -> None:
    """As `test_hmc` has it for HMC: with one device for each chain, and with one for all."""
    found = drawn(NUTS(draws=1000, warmup=99, chains=chains), gaussian, 4)
    assert found["u"].shape == (chains, 1000, len(SCALES))
    assert_from_the_gaussian(found["u"])
    assert not found["diverging"].any()
    assert 0.7 < found["acceptance_rate"].mean() < 0.99
    assert found["n_steps"].mean() < 30


def test_coordinates_are_found_once(kept: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls = bi.Model(), []

    def find(model: bi.Model, design: Any, seed: int) -> tuple[Coordinates, Place]:
        calls.append(seed)
        third = jnp.array([1 / 3])
        coordinates = Coordinates(Density(model, (("b", ()), ("a/c", (2, 1)))))
        return coordinates, Place(design, {"a": third, "b": 2 * third}, jnp.arange(1)[None], Whitening.none(third))

    monkeypatch.setattr(whitened, "find", find)
    design: Any = {"x": np.arange(2.0)}
    with jax.enable_x64(True):
        found = whitened.coordinates_of(model, design, 5, Running(checkpoint=kept))
        again = whitened.coordinates_of(model, design, 5, Running(checkpoint=kept))
        alone = whitened.coordinates_of(model, design, 5, Running())
    assert calls == [5, 5]
    for coordinates, place in (again, alone):
        assert coordinates == found[0] == Coordinates(Density(model, (("b", ()), ("a/c", (2, 1)))))
        jax.tree.map(np.testing.assert_array_equal, place, found[1])
