"""One file per fit: everything comes back, nothing is half written, and what is no fit is told so."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_stats import summary  # type: ignore[attr-defined]

import bayes_irsl as bi
from bayes_irsl import names, storage
from bayes_irsl.responses import Responses
from bayes_irsl.simulation import Truth


def again(fit: bi.Fit, folder: Path) -> bi.Fit:
    bi.save(fit, folder / "fit.nc")
    return bi.load(folder / "fit.nc")


def assert_same_table(one: Responses, other: Responses) -> None:
    for name in ("cells", "lms", "items"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    assert one.hash() == other.hash()
    assert (one.notes, one.missing, dict(one.choices)) == (other.notes, other.missing, dict(other.choices))


def test_a_fit_comes_back_as_it_was(fit: bi.Fit, tmp_path: Path) -> None:
    loaded = again(fit, tmp_path)
    for group in ("posterior", "sites", "sample_stats"):
        xr.testing.assert_equal(loaded.tree[group].to_dataset(), fit.tree[group].to_dataset())
    assert names.to_dict(loaded.model) == names.to_dict(fit.model)
    assert (loaded.axis, loaded.groups, loaded.notes) == (fit.axis, fit.groups, fit.notes)
    for name in ("rule", "engine", "settings", "seed", "data_hash", "versions"):
        assert loaded.tree.attrs[name] == fit.tree.attrs[name]
    assert_same_table(loaded.responses, fit.responses)
    assert loaded.tree.attrs["data_hash"] == loaded.responses.hash()
    for name in ("lms", "items", "benchmarks", "benchmark", "chance", "x", "groups", "answered"):
        was, now = getattr(fit.population, name), getattr(loaded.population, name)
        np.testing.assert_equal(now, was, err_msg=name)
    # And once more, from what was loaded.
    assert_same_table(again(loaded, tmp_path).responses, fit.responses)


def test_tables_come_back_bit_for_bit(fit: bi.Fit, tmp_path: Path) -> None:
    count = len(fit.responses.lms)
    lms = fit.responses.lms.assign(
        code=np.resize(["0012", "NA", "", "2024-01-01", None, "nan", "1e5", 'ÄÖ, "q"\n'], count),
        third=np.resize([1 / 3, np.nan, 1e24, -0.0, 5e-324, 0.1 + 0.2], count),
        whole=np.arange(count),
        flag=np.arange(count) % 2 == 0,
        **{"a/b %2F": "text", "cell": 1.5, "lm_row": "x", "index": 2},
    )
    table = Responses(
        fit.responses.cells,
        lms.astype({"code": "str", "a/b %2F": "str", "lm_row": "str"}),
        fit.responses.items.assign(note=[None, *("n",) * 11]).astype({"note": "str"}),
        notes=("read as it is", "ünïcode"),
        choices={"on_boundary": "squeeze", "squeezed": 3},
        missing=7,
    )
    loaded = again(replace(fit, responses=table), tmp_path)
    assert_same_table(loaded.responses, table)
    assert loaded.responses.lms["code"].isna().sum() == lms["code"].isna().sum()


def test_counts_come_back_as_integers(fit: bi.Fit, tmp_path: Path) -> None:
    cells = fit.responses.cells[["lm", "item"]].assign(successes=3, trials=2**40)
    table = Responses(cells, fit.responses.lms, fit.responses.items)
    loaded = again(replace(fit, responses=table), tmp_path)
    assert loaded.responses.kind == "counts"
    assert_same_table(loaded.responses, table)


def test_a_fit_without_x_and_groups(fit: bi.Fit, tmp_path: Path) -> None:
    loaded = again(replace(fit, axis=None, groups=()), tmp_path)
    assert loaded.axis is None
    assert loaded.groups == ()


def test_a_crash_while_writing_leaves_the_old_file(
    fit: bi.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fit.nc"
    bi.save(fit, path)
    before = path.read_bytes()

    def crash(self: xr.DataTree, target: Path, **options: object) -> None:
        Path(target).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(xr.DataTree, "to_netcdf", crash)
    with pytest.raises(OSError, match="disk full"):
        bi.save(fit, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_the_file_as_any_other(fit: bi.Fit, tmp_path: Path) -> None:
    bi.save(fit, tmp_path / "fit.nc")
    (tmp_path / "plain").touch()
    assert (tmp_path / "fit.nc").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_saving_over_the_file_that_was_loaded(fit: bi.Fit, tmp_path: Path) -> None:
    loaded = again(fit, tmp_path)
    assert_same_table(again(loaded, tmp_path).responses, fit.responses)


def test_arviz_reads_the_file_as_it_is(fit: bi.Fit, tmp_path: Path) -> None:
    bi.save(fit, tmp_path / "fit.nc")
    tree = xr.load_datatree(tmp_path / "fit.nc", engine="h5netcdf")
    summarise: Any = summary
    table = summarise(tree, var_names=["slope", "ability"], round_to="none")
    assert table.index[0].startswith(("slope", "ability"))
    assert table.loc["slope", "mean"] == pytest.approx(float(fit.posterior["slope"].mean()), rel=1e-12)
    assert len(table) == 1 + 24


def test_a_missing_file_or_folder(fit: bi.Fit, tmp_path: Path) -> None:
    with pytest.raises(bi.InputError, match="there is no such file"):
        bi.load(tmp_path / "none.nc")
    with pytest.raises(bi.InputError, match="it is not the path of a file but of type NoneType"):
        bi.load(None)  # type: ignore[arg-type]
    with pytest.raises(bi.InputError, match="its folder does not exist"):
        bi.save(fit, tmp_path / "none" / "fit.nc")


@pytest.mark.parametrize("content", [b"", b"lm,item,score\na,b,0.5\n", b"CDF\x01" + b"\0" * 100])
def test_a_file_that_is_no_fit(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "fit.nc").write_bytes(content)
    with pytest.raises(bi.InputError, match=r"fit.nc: it is not a saved fit. Give a file that fit wrote"):
        bi.load(tmp_path / "fit.nc")


def test_a_truncated_file_a_folder_and_another_netcdf(fit: bi.Fit, tmp_path: Path) -> None:
    bi.save(fit, tmp_path / "fit.nc")
    whole = (tmp_path / "fit.nc").read_bytes()
    for share in (0.1, 0.5, 0.99):
        (tmp_path / "part.nc").write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(bi.InputError, match="it is not a saved fit"):
            bi.load(tmp_path / "part.nc")
    xr.Dataset({"a": ("d", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    for name in ("other.nc", "."):
        with pytest.raises(bi.InputError, match="it is not a saved fit"):
            bi.load(tmp_path / name)


@pytest.mark.parametrize("group", ["sites", "posterior"])
def test_a_file_with_one_wrong_bit_is_refused(fit: bi.Fit, tmp_path: Path, group: str) -> None:
    path = tmp_path / "fit.nc"
    bi.save(fit, path)
    content = bytearray(path.read_bytes())
    draw = fit.tree[group]["ability"].to_numpy()[-1, -1, -2:].tobytes()
    assert content.count(draw) >= 1
    content[content.index(draw)] ^= 1
    path.write_bytes(content)
    with pytest.raises(bi.InputError, match=r"fit.nc: the file is damaged: it does not hold what was written"):
        bi.load(path)


def test_a_text_that_was_changed_is_refused(fit: bi.Fit, tmp_path: Path) -> None:
    path = tmp_path / "fit.nc"
    bi.save(fit, path)
    with h5py.File(path, "a") as file:
        file.attrs["axis"] = file.attrs["axis"].replace("linear", "log10")
    with pytest.raises(bi.InputError, match="the file is damaged"):
        bi.load(path)


def test_a_file_without_a_checksum_is_taken_as_it_is(fit: bi.Fit, tmp_path: Path) -> None:
    path = tmp_path / "fit.nc"
    bi.save(fit, path)
    with h5py.File(path, "a") as file:
        del file.attrs["checksum"]
    assert_same_table(bi.load(path).responses, fit.responses)


def test_a_file_of_a_later_version(fit: bi.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "FORMAT", 2)
    bi.save(fit, tmp_path / "fit.nc")
    monkeypatch.setattr(storage, "FORMAT", 1)
    with pytest.raises(bi.InputError, match=r"later version.*Upgrade"):
        bi.load(tmp_path / "fit.nc")


@pytest.mark.parametrize("name", ["item", "benchmark", "draw", "grouping", "scale", "org/family"])
def test_a_group_cannot_have_a_name_that_results_use(truth: Truth, name: str) -> None:
    table = truth.responses
    renamed = Responses(table.cells, table.lms.rename(columns={"group": name}), table.items)
    with pytest.raises(bi.InputError, match=r"another meaning in results.*another name"):
        bi.fit(bi.Model(), renamed, x="x", group=name)
