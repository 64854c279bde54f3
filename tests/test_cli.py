"""The command line: words, columns and exit statuses are a contract."""

import functools
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bayes_irsl as bi
from bayes_irsl.checkpoints import Checkpoint
from bayes_irsl.cli import main
from bayes_irsl.cli.main import app, status
from bayes_irsl.engines import svi, warm_start
from bayes_irsl.files import replacing
from bayes_irsl.simulation import Truth
from bayes_irsl.summaries import summarise_parameters

SUMMARY = ["kind", "mean", "sd", "lower", "upper", "prob", "extrapolation", "x"]
HIDDEN = [("lm-00", "item-03"), ("lm-05", "item-00")]

# One worker makes the fits that these tests share.
pytestmark = pytest.mark.xdist_group("cli")


class Run:
    """One call of the program within this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *words: object) -> int:
        code = status([str(word) for word in words])
        self.out, self.err = self.capsys.readouterr()
        return code


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.fixture(scope="module")
def tables(truth: Truth, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The simulated table but for two cells as files, and the words that name them."""
    folder = tmp_path_factory.mktemp("tables")
    cells = truth.responses.cells
    hidden = pd.MultiIndex.from_frame(cells[["lm", "item"]]).isin(HIDDEN)
    cells[~hidden].to_csv(folder / "cells.csv", index=False)
    truth.responses.lms.to_csv(folder / "lms.csv", index=False)
    truth.responses.items.to_csv(folder / "items.csv", index=False)
    return [folder / "cells.csv", "--lms", folder / "lms.csv", "--items", folder / "items.csv"]


@pytest.fixture(scope="module")
def saved(fit: bi.Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "fit.nc"
    bi.save(fit, path)
    return path


@pytest.fixture(scope="module")
def fitted(tables: list[object], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A fit made by the program, with 1,000 draws, and the exit status."""
    path = tmp_path_factory.mktemp("fitted") / "fit.nc"
    words = ["fit", *tables, "--x", "x", "--group", "group", "--engine", "svi", "--draws", "1000", "--out", path]
    with pytest.MonkeyPatch.context() as patch:
        # The quality of the fit is not the matter here.
        patch.setattr(svi, "SVI", functools.partial(svi.SVI, steps=200))
        return path, status([str(word) for word in words])


# check


def test_check_describes_the_tables(run: Run, tables: list[object]) -> None:
    assert run("check", *tables) == 0
    assert run.out.splitlines()[0].split() == ["LMs", "24"]
    assert run.err == ""


def test_check_as_json(run: Run, tables: list[object]) -> None:
    assert run("check", *tables, "--json") == 0
    found = json.loads(run.out)
    assert (found["lms"], found["items"], found["benchmarks"]) == (24, 12, 3)


def test_check_of_a_scaling_variable(run: Run, tables: list[object], tmp_path: Path) -> None:
    assert run("check", *tables, "--x", "x") == 0
    assert run.out.splitlines()[-1] == "- x x (linear): 24 different values over 2 units"
    assert run("check", *tables, "--x", "x:log10", "--json") == 2
    assert "log10 needs values above 0" in run.err
    assert run("check", *tables, "--x", "x", "--json") == 0
    assert json.loads(run.out)["x"][0]["n_values"] == 24


def test_options_about_tables_are_read(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("subject;task;response\na;p;1,5\na;q;yes\nb;p;2,5\nb;q;no\n")
    words = ["--columns", "lm=subject", "item=task", "score=response", "--sep", ";", "--decimal", ","]
    assert run("check", path, *words, "--scale", "p=percent", "--map", "yes=1", "no=0", "--json") == 0
    found = json.loads(run.out)
    assert (found["cells"], found["zeros"], found["ones"]) == (4, 1, 1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--columns", "lm"], "option columns, value 'lm': a word is not NEW=OLD"),
        (["--columns", "lm=a", "lm=b"], "option columns, value 'lm': a name is given twice"),
        (["--map", "yes=one"], "option map, value 'yes=one'"),
        (["--scale", "permille"], "option scale, value 'permille'"),
        (["--on-boundary", "clip"], 'Invalid value "clip" for --on-boundary'),
        (["--nonsense"], "Unknown option"),
    ],
)
def test_wrong_options_are_told(run: Run, tables: list[object], words: list[str], told: str) -> None:
    assert run("check", *tables, *words) == 2
    assert told in run.err
    assert run.out == ""


def test_faults_of_a_table_go_to_stderr(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("lm,item,score\na,p,0.5\nb,p,1.5\n")
    assert run("check", path) == 2
    assert "line 3, column score, value '1.5'" in run.err
    assert run.out == ""


# The program


def test_commands_and_their_examples(run: Run) -> None:
    assert run("--help") == 0
    for name in ("demo", "check", "fit", "forecast", "predict", "diagnose", "plot"):
        assert name in run.out
        assert run(name, "--help") == 0
        assert f"Example: bayes-irsl {name}" in " ".join(run.out.split())
        assert run("--help") == 0


def test_help_names_every_part(run: Run) -> None:
    from bayes_irsl import names
    from bayes_irsl.plots.catalogue import FIGURES

    run("fit", "--help")
    for catalogue in (names.CURVES, names.TRENDS, names.LIKELIHOODS):
        assert [word for word in catalogue if word not in run.out] == []
    run("plot", "--help")
    assert [word for word in FIGURES if word not in run.out] == []


@pytest.mark.parametrize("words", [["nonsense"], ["check"], ["fit", "r.csv"], ["forecast", "f.nc", "--prob", "2"]])
def test_mistakes_on_the_command_line(run: Run, words: list[str]) -> None:
    assert run(*words) == 2
    assert run.err.startswith("bayes-irsl: ")
    assert "--help" in run.err.splitlines()[-1]


def _fail_with(problem: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(main, "app", fail)


def test_bugs_are_called_bugs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAYES_IRSL_TRACEBACK", raising=False)
    _fail_with(KeyError("nothing"), monkeypatch)
    assert run("check") == 70
    (line,) = run.err.splitlines()
    assert "bug of bayes-irsl" in line
    assert "KeyError: 'nothing'" in line
    assert "BAYES_IRSL_TRACEBACK=1" in line


def test_tracebacks_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYES_IRSL_TRACEBACK", "1")
    _fail_with(KeyError("nothing"), monkeypatch)
    assert run("check") == 70
    assert "Traceback (most recent call last)" in run.err


def test_an_interrupt_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_with(KeyboardInterrupt(), monkeypatch)
    assert run("check") == 130
    assert len(run.err.splitlines()) == 1


def test_what_the_system_refuses_is_no_bug(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_with(PermissionError(13, "Permission denied", "r.csv"), monkeypatch)
    assert run("check") == 2
    assert run.err == "r.csv: Permission denied\n"


def test_settings_of_the_user_win(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "XLA_FLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "7")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    main.set_environment()
    assert os.environ["JAX_NUM_CPU_DEVICES"] == "7"
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "bayes-irsl" / "jax")
    assert os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] == "0"


def test_help_in_a_process_of_its_own_imports_nothing_heavy() -> None:
    code = (
        "import sys; from bayes_irsl.cli.main import status; code = status(['fit', '--help']);"
        "print(code, [m for m in ('jax', 'numpyro', 'pandas', 'scipy', 'xarray', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"
    assert done.stderr == ""


def test_a_reader_that_leaves_is_no_error() -> None:
    code = (
        "import os, sys; from bayes_irsl.cli.main import status\n"
        "read, write = os.pipe(); os.close(read); os.dup2(write, 1)\n"
        "sys.exit(status(['--help']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (141, "")


# fit


def test_fit_saves_a_fit(fitted: tuple[Path, int], run: Run) -> None:
    path, code = fitted
    found = bi.load(path)
    assert (found.posterior.sizes["draw"], found.groups) == (1000, ("group",))
    assert found.axis is not None
    assert found.axis.name == "x"
    assert found.model.trend is bi.trends.linear
    # A failed check is told by the status; the fit is there all the same.
    assert run("diagnose", path) == code
    assert "Diagnostics" in run.out


def test_the_scale_of_each_grouping_is_among_the_parameters(fit: bi.Fit) -> None:
    means = summarise_parameters(fit.posterior).set_index("parameter")["mean"]
    assert means["group_scale[group]"] == pytest.approx(float(fit.posterior["group_scale"].mean()))
    assert means["slope"] == pytest.approx(float(fit.posterior["slope"].mean()))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--x", "x", "group"], "one scaling variable for now"),
        (["--x", "nothing"], "option x, value 'nothing': the LMs have no such covariate"),
        (["--group", "nothing"], "option group, value 'nothing'"),
        (["--trend", "cubic"], "Give one of linear, none, power, random_walk"),
        (["--curve", "4pl"], "option curve, value '4pl': it is not offered yet. Give one of 1pl, 2pl, 3pl"),
        (["--likelihood", "normal"], "Give one of auto, bernoulli, beta"),
        (
            ["--engine", "stan"],
            "option engine, value 'stan': the option does not know this word. Give one of hmc, laplace",
        ),
        (["--engine", "svi", "--chains", "2"], "option chains, value '2': svi has no such setting"),
        (["--prior.slop", "HalfNormal(1)"], "The model has deviation_scale, drift_scale"),
        (["--x", "x", "--prior.scatter_ratio", "HalfNormal"], "option prior.scatter_ratio, value 'HalfNormal'"),
        (
            ["--x", "x", "--prior.scatter_ratio", "Normal(0,1)"],
            "the prior of 'scatter_ratio' reaches below zero",
        ),
        (["--x", "x", "--prior.scatter_ratio", "HalfNormal(-1)"], "invalid scale parameter. Write NAME(NUMBERS)"),
        (["--draws", "0"], "--draws"),
        (["--seed", "-1"], "--seed"),
        (["--seed", str(2**63)], "--seed"),
    ],
)
def test_fit_refuses(run: Run, tables: list[object], tmp_path: Path, words: list[str], told: str) -> None:
    out = tmp_path / "fit.nc"
    assert run("fit", *tables, *words, "--out", out) == 2
    assert told in run.err
    assert not out.exists()


def test_wrong_words_are_told_at_once_before_anything_is_read(run: Run, tmp_path: Path) -> None:
    words = ["--curve", "9pl", "--likelihood", "normal", "--engine", "magic", "--trend", "linear"]
    assert run("fit", "no-such-table.csv", *words, "--out", tmp_path / "fit.csv") == 2
    first, *others = run.err.splitlines()
    assert first == "5 faults in the input:"
    assert [line.split(",")[0] for line in others] == [
        f"- option {name}" for name in ("out", "trend", "curve", "likelihood", "engine")
    ]


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("missing/fit.nc", "there is no folder"),
        ("fit.csv", "the ending '.csv' is not known. Use one of .nc"),
        ("folder.nc", "it is a folder"),
    ],
)
def test_the_target_is_checked_before_anything_is_read(run: Run, tmp_path: Path, out: str, told: str) -> None:
    (tmp_path / "folder.nc").mkdir()
    assert run("fit", "no-such-table.csv", "--out", tmp_path / out) == 2
    assert told in run.err


@pytest.mark.parametrize(
    ("command", "words", "name"),
    [
        ("fit", [], "fit.nc"),
        ("fit", ["--resume"], "fit.nc"),
        ("forecast", ["--at", "x=1"], "f.csv"),
        ("predict", [], "p.csv"),
        ("plot", ["scores"], "s.png"),
    ],
)
def test_a_file_that_is_there_stays_unless_asked(
    run: Run, tmp_path: Path, command: str, words: list[str], name: str
) -> None:
    out = tmp_path / name
    out.write_text("mine")
    told = f"option out, value '{out}': the file is there already. Give it another name, or --overwrite to replace it."
    assert run(command, "no-such-input", *words, "--out", out) == 2
    assert run.err == f"{told}\n"
    # Then only the input is missing.
    assert run(command, "no-such-input", *words, "--out", out, "--overwrite") == 2
    assert "no-such-input: there is no such file" in run.err
    assert out.read_text() == "mine"


def test_a_table_of_draws_that_is_there_stays_unless_asked(run: Run, saved: Path, tmp_path: Path) -> None:
    draws_out = tmp_path / "d.csv"
    draws_out.write_text("mine")
    assert run("forecast", saved, "--at", "x=1", "--out", tmp_path / "f.csv", "--draws-out", draws_out) == 2
    assert f"option draws-out, value '{draws_out}': the file is there already" in run.err
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


def test_a_figure_is_replaced_on_request(run: Run, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.png"
    out.write_text("mine")
    assert run("plot", saved, "scores", "--out", out, "--overwrite") == 0
    assert out.read_bytes().startswith(b"\x89PNG")


# Runs that are stopped


@pytest.fixture
def answered() -> Iterator[None]:
    """Ctrl-C is a KeyboardInterrupt, whatever runs these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("answered")
def test_an_interrupted_fit_goes_on_where_it_was(
    fitted: tuple[Path, int], tables: list[object], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted at its first checkpoint, it ends as `fitted`, which was left alone."""
    folder, out = tmp_path / "fit.nc.checkpoint", tmp_path / "fit.nc"
    words = ["fit", *tables, "--x", "x", "--group", "group", "--engine", "svi", "--draws", "1000", "--out", out]
    monkeypatch.setattr(svi, "SVI", functools.partial(svi.SVI, steps=200))
    save = Checkpoint.save

    def interrupted(self: Checkpoint, *arguments: Any, **options: Any) -> None:
        save(self, *arguments, **options)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", interrupted)
        assert run(*words, "--checkpoint-every", "0") == 130
    told = f"bayes-irsl: interrupted; the run is kept in {folder}: the same command with --resume goes on with it\n"
    assert run.err == told
    assert not out.exists()
    # It is neither used nor lost unasked, and no other run goes on with it.
    assert run(*words) == 2
    assert "an earlier run lies there. Go on with it (resume=True, --resume), or delete the folder" in run.err
    assert run(*words, "--seed", "1", "--likelihood", "ordered_beta", "--resume") == 2
    assert "likelihoods.beta' and is 'irsl_models.likelihoods.ordered_beta'; seed was 0 and is 1." in run.err
    # That it may replace what lies there was said when it began.
    out.touch()
    # Were it to begin anew, it would have to find its start.
    with monkeypatch.context() as patch:
        patch.delattr(warm_start, "find")
        assert run(*words, "--resume") == fitted[1]
    assert run.err == ""
    assert list(tmp_path.iterdir()) == [out]
    assert bi.load(out).tree["sites"].to_dataset().equals(bi.load(fitted[0]).tree["sites"].to_dataset())


def test_a_run_that_has_nothing_to_go_on_from_says_so(
    run: Run, tables: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise bi.InputError("this far")

    monkeypatch.setattr("bayes_irsl.fitting.fit", fails)
    out = tmp_path / "fit.nc"
    assert run("fit", *tables, "--resume", "--out", out) == 2
    told = f"nothing to resume: no unfinished run lies in {out}.checkpoint, so the fit begins anew"
    assert run.err.splitlines() == [told, "this far"]


def test_what_else_lies_at_the_place_of_checkpoints_is_told_at_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "fit.nc.checkpoint").touch()
    assert run("fit", "no-such-table.csv", "--out", tmp_path / "fit.nc") == 2
    assert "fit.nc.checkpoint: it is no folder of checkpoints. Name another one" in run.err


@pytest.mark.slow
def test_fits_that_are_killed_end_with_the_same_draws() -> None:
    from bayes_irsl.studies.kills import study

    table = study(kills=3, seed=1)
    assert table[["before", "warmup", "draws"]].to_numpy().sum() >= 3
    assert table["same"].all()


# forecast, predict, plot


def test_forecast_by_item(run: Run, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "f.csv"
    assert run("forecast", saved, "--at", "x=1.5", "group=new", "--out", out) == 0
    table = pd.read_csv(out)
    assert list(table) == ["lm", "item", *SUMMARY]
    assert len(table) == 12
    assert set(table["lm"]) == {"x=1.5 group=new"}
    assert table["extrapolation"].to_numpy() == pytest.approx(0.5)
    assert (table["lower"] < table["upper"]).all()


def test_forecast_of_several_lms_by_benchmark(run: Run, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "f.jsonl"
    words = ["--at", "x=1.5", "x=2.5", "--by", "benchmark", "--kind", "expected", "--prob", "0.5"]
    assert run("forecast", saved, *words, "--out", out) == 0
    table = pd.read_json(out, lines=True)
    assert list(table) == ["lm", "benchmark", *SUMMARY]
    assert list(table["lm"]) == ["x=1.5"] * 3 + ["x=2.5"] * 3
    assert set(table["kind"]) == {"expected"}
    assert set(table["prob"]) == {0.5}


def test_forecast_from_a_table(run: Run, saved: Path, tmp_path: Path) -> None:
    new, out = tmp_path / "new.csv", tmp_path / "f.parquet"
    new.write_text("lm,x,group\nnext,1.5,group-0\nlater,2,\n")
    assert run("forecast", saved, "--lms", new, "--out", out) == 0
    assert list(pd.read_parquet(out)["lm"].unique()) == ["next", "later"]


def test_draws_can_be_taken_along(run: Run, fitted: tuple[Path, int], tmp_path: Path) -> None:
    out, draws_out = tmp_path / "f.csv", tmp_path / "d.parquet"
    words = ["--at", "lm=next", "x=1.5", "--by", "benchmark", "--draws-out", draws_out]
    assert run("forecast", fitted[0], *words, "--out", out) == 0
    draws = pd.read_parquet(draws_out)
    assert list(draws) == ["lm", "benchmark", "draw", "value"]
    assert list(draws["draw"].unique()) == list(range(1000))
    means = draws.groupby("benchmark")["value"].mean()
    assert means.to_numpy() == pytest.approx(pd.read_csv(out)["mean"].to_numpy())


def test_too_few_draws_are_not_handed_on(run: Run, saved: Path, tmp_path: Path) -> None:
    out, draws_out = tmp_path / "f.csv", tmp_path / "d.parquet"
    assert run("forecast", saved, "--at", "x=1.5", "--draws-out", draws_out, "--out", out) == 2
    assert run.err.startswith(f"{saved}, value '600 draws': a table of draws has at least 1,000.")
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "one of the two"),
        (["--at", "y=1"], "the fit has no such name. Known are x, group, lm"),
        (["--at", "x"], "a word is not NAME=VALUE"),
        (["--at", "x=1", "2"], "value '2': a word is not NAME=VALUE. Write NAME=VALUE, such as flops=1e25 flops=1e26;"),
        (["--at", "x=tall"], "'tall'"),
        (["--at", "lm=lm-00", "x=1"], "this LM is in the fit"),
        (["--at", "lm=a", "lm=b", "x=1"], "several LMs are named"),
        (["--lms", "no-such-file.csv"], "there is no such file"),
        (["--at", "x=1", "--seed", str(2**63)], "--seed"),
    ],
)
def test_forecast_refuses(run: Run, saved: Path, tmp_path: Path, words: list[str], told: str) -> None:
    assert run("forecast", saved, *words, "--out", tmp_path / "f.csv") == 2
    assert told in run.err
    assert list(tmp_path.iterdir()) == []


def test_no_input_is_replaced(run: Run, saved: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("lm,x\nnext,1.5\n")
    assert run("forecast", saved, "--lms", new, "--out", new) == 2
    assert "would be lost" in run.err
    assert new.read_text() == "lm,x\nnext,1.5\n"


def test_repeated_ids_of_new_lms_are_told_with_their_lines(run: Run, saved: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("lm,x\nnext,1.5\nnext,2\n")
    assert run("forecast", saved, "--lms", new, "--out", tmp_path / "f.csv") == 2
    assert "line 3, column lm, value 'next': the id stands on line 2 already" in run.err


def test_faults_of_new_lms_are_told_at_once_with_their_lines(run: Run, saved: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("lm,x\nnext,tall\n later,2\nlm-00,1\nlast,\n")
    assert run("forecast", saved, "--lms", new, "--out", tmp_path / "f.csv") == 2
    assert run.err.splitlines()[0] == "4 faults in the input:"
    assert f"{new}, line 2, column x, value 'tall'" in run.err
    assert f"{new}, line 3, column lm, value ' later': an id has blanks around it" in run.err
    assert f"{new}, line 4, column lm, value 'lm-00': this LM is in the fit" in run.err
    assert f"{new}, line 5, column x, value '': x is missing" in run.err


def test_new_lms_are_read_as_they_are_written(run: Run, saved: Path, tmp_path: Path) -> None:
    new, out = tmp_path / "new.csv", tmp_path / "f.csv"
    new.write_text("model;size\nnext;1,5\n")
    words = ["--lms", new, "--columns", "lm=model", "x=size", "--sep", ";", "--decimal", ","]
    assert run("forecast", saved, *words, "--by", "benchmark", "--out", out) == 0
    assert set(pd.read_csv(out)["x"]) == {1.5}


def test_what_lies_beyond_the_data_is_said(run: Run, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "f.csv"
    assert run("forecast", saved, "--at", "x=9", "group=ours", "--by", "benchmark", "--out", out) == 0
    assert "- beyond the calibration data: 1 LM of 1, by up to 8 units of x; the data span 2: so far out" in run.out
    assert "- group ours: not in the fit" in run.out
    words = ["--at", "x=0.5", "group=group-0", "--by", "benchmark", "--overwrite"]
    assert run("forecast", saved, *words, "--out", out) == 0
    assert "\n- " not in run.out


def test_predict_writes_unobserved_cells(run: Run, truth: Truth, fitted: tuple[Path, int], tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    assert run("predict", fitted[0], "--out", out) == 0
    table = pd.read_csv(out)
    assert list(table) == ["lm", "item", *SUMMARY]
    pairs = itertools.product(truth.responses.lms["lm"], truth.responses.items["item"])
    seen = set(truth.responses.cells[["lm", "item"]].itertuples(index=False, name=None)) - set(HIDDEN)
    assert list(table[["lm", "item"]].itertuples(index=False, name=None)) == [
        pair for pair in pairs if pair not in seen
    ]


@pytest.mark.parametrize("command", ["diagnose", "forecast", "predict", "plot"])
def test_what_is_not_a_fit_is_told(run: Run, tmp_path: Path, command: str) -> None:
    path = tmp_path / "fit.nc"
    path.write_text("lm,item\n")
    words = {
        "forecast": ["--at", "x=1", "--out", tmp_path / "f.csv"],
        "predict": ["--out", tmp_path / "p.csv"],
        "plot": ["scores", "--out", tmp_path / "s.png"],
    }
    assert run(command, path, *words.get(command, [])) == 2
    assert "it is not a saved fit" in run.err


def test_plot_writes_a_figure(run: Run, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.png"
    assert run("plot", saved, "scores", "--out", out) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["s.png"]


def test_what_cannot_be_written_is_told_by_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as told, replacing(tmp_path / "gone" / "s.png") as unfinished:
        unfinished.write_text("a figure")
    assert told.value.filename == str(tmp_path / "gone" / "s.png")


def test_plot_lists_its_figures(run: Run, saved: Path, tmp_path: Path) -> None:
    assert run("plot", saved, "nonsense", "--out", tmp_path / "s.png") == 2
    assert "abilities, curves, scores" in run.err


# demo


@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_demo_says_whether_its_diagnostics_passed(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, passed: bool, code: int
) -> None:
    from bayes_irsl import demonstration

    def short(out: Path, echo: Callable[[str], None], *, progress: bool) -> bool:
        echo(f"into {out.name}")
        return passed

    monkeypatch.setattr(demonstration, "run", short)
    assert run("demo", "--out", tmp_path / "new") == code
    assert run.out == "into new\n"
    assert (tmp_path / "new").is_dir()


def test_demo_does_not_write_over_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "demo"
    path.write_text("mine")
    assert run("demo", "--out", path) == 2
    assert path.read_text() == "mine"


def test_every_command_is_registered() -> None:
    assert {name for name in app if not name.startswith("-")} == {
        "demo", "check", "fit", "forecast", "predict", "diagnose", "plot"
    }  # fmt: skip
