"""What is shipped, and whether it works from a wheel in an environment of its own."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

USED_FROM_ELSEWHERE = """
from importlib.resources import files
from pathlib import Path
import sys
import bayes_irsl, irsl_models
from bayes_irsl import datasets
for package in (bayes_irsl, irsl_models):
    assert Path(package.__file__).is_relative_to(sys.prefix), package.__file__
    assert (files(package) / "py.typed").is_file()
responses = datasets.frontier()
print(len(responses.cells), bayes_irsl.Model().trend.__name__)
"""


@pytest.fixture(scope="module")
def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _bare(name: str) -> str:
    return re.sub("[-_.]+", "-", re.split(r"[\[<>=!~ ;]", name, maxsplit=1)[0]).lower()


def test_every_dependency_has_a_tested_version(project: Any) -> None:
    pinned = {_bare(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if line}
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    assert [name for name in wanted if _bare(name) not in pinned] == []


def test_constraints_are_versions_without_addresses() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+", line)] == []


def test_the_license_is_the_one_declared(project: Any) -> None:
    assert project["project"]["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_changelog_knows_the_version(project: Any) -> None:
    assert f"## [{project['project']['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_make_names_the_python_it_needs(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    words = ["make", "-C", str(tmp_path), "PYTHONS=python-that-is-not-here false", "test"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode != 0
    assert "bayes-irsl needs Python 3.12 or later" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.wheel
def test_a_wheel_works_elsewhere(tmp_path: Path) -> None:
    def call(*words: object, folder: Path = ROOT) -> str:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # The sdist by the build backend itself, the wheel from the sdist: so both are complete.
    dist, build, clean = tmp_path / "dist", tmp_path / "build", tmp_path / "clean"
    call(sys.executable, "-m", "venv", build)
    call(build / "bin/pip", "install", "-q", "hatchling")
    call(build / "bin/hatchling", "build", "-t", "sdist", "-d", dist)
    (sdist,) = dist.glob("*.tar.gz")
    call(build / "bin/pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", dist, sdist)
    (wheel,) = dist.glob("*.whl")
    shipped = set(zipfile.ZipFile(wheel).namelist())
    for name in ("bayes_irsl/py.typed", "bayes_irsl/__init__.pyi", "irsl_models/py.typed"):
        assert name in shipped
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2].partition("/")[0] for name in archive.getnames()} - {""}
    assert [name for name in packed if name.startswith(".") and name not in SMALL_FILES] == []

    call(sys.executable, "-m", "venv", clean)
    call(clean / "bin/pip", "install", "-q", "--upgrade", "pip")
    call(clean / "bin/pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "forecast" in call(clean / "bin/bayes-irsl", "--help", folder=elsewhere)
    assert call(clean / "bin/python", "-c", USED_FROM_ELSEWHERE, folder=elsewhere) == "2515 linear\n"
    (elsewhere / "r.csv").write_text("lm,item,score\na,p,0.5\nb,p,0.25\n")
    assert "2 (score)" in call(clean / "bin/bayes-irsl", "check", "r.csv", folder=elsewhere)
    call(clean / "bin/pip", "check", folder=elsewhere)


SMALL_FILES = {".ci", ".gitignore", ".python-version"}
