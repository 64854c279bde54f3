"""What importing the package does, and what it does not."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import bayes_irsl as bi

FLAT = {
    "HMC", "NUTS", "SVI", "Axis", "Fit", "InputError", "Model", "Responses", "check", "curves", "effects", "fit",
    "forecast",
    "likelihoods", "load", "predict", "read_responses", "save", "simulate", "summarise", "trends",
}  # fmt: skip

# In a fresh process: settings before, then every public name is used, then settings after.
PROBE = """
import json, sys, warnings
# What others do when they are imported is theirs.
import jax, numpy, numpyro, pandas, pyarrow.parquet, scipy.sparse, xarray

def settings():
    return {
        "x64": jax.config.jax_enable_x64,
        "jax": {name: repr(value) for name, value in jax.config.values.items()},
        "numpy": {**numpy.geterr(), "print": repr(sorted(numpy.get_printoptions().items(), key=str))},
        "pandas": {name: repr(pandas.get_option(name)) for name in pandas._config.config._registered_options
                   if name not in pandas._config.config._deprecated_options},
        "warnings": len(warnings.filters),
    }

before = settings()
import bayes_irsl
for name in bayes_irsl.__all__:
    getattr(bayes_irsl, name)
after = settings()
from jax._src import xla_bridge
print(json.dumps({
    "changed": [name for name in before if before[name] != after[name]],
    "backends": list(xla_bridge._backends),
    "loaded": [m for m in ("arviz", "arviz_base", "arviz_stats", "matplotlib", "scipy.stats") if m in sys.modules],
    "names": bayes_irsl.__all__,
}))
"""


@pytest.fixture(scope="module")
def probe() -> Any:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    (line,) = done.stdout.splitlines()  # the import itself prints nothing
    assert done.stderr == ""
    return json.loads(line)


def test_importing_changes_no_setting(probe: Any) -> None:
    assert probe["changed"] == []


def test_importing_starts_no_backend(probe: Any) -> None:
    assert probe["backends"] == []


def test_importing_loads_nothing_heavy_that_a_fit_does_not_need(probe: Any) -> None:
    assert probe["loaded"] == []


def test_names_are_flat_and_complete(probe: Any) -> None:
    assert set(probe["names"]) >= FLAT
    assert [name for name in probe["names"] if name.startswith("_") or not hasattr(bi, name)] == []
    assert set(probe["names"]) <= set(dir(bi))


def test_a_bare_import_is_light() -> None:
    code = "import sys, bayes_irsl; print([m for m in ('jax', 'numpy', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_has_a_docstring() -> None:
    assert [name for name in bi.__all__ if not getattr(bi, name).__doc__] == []


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'bayes_irsl' has no attribute 'nonsense'"):
        bi.__getattr__("nonsense")


def test_both_packages_are_typed() -> None:
    import irsl_models

    for package in (bi, irsl_models):
        assert package.__file__ is not None
        assert (Path(package.__file__).parent / "py.typed").is_file()


def test_the_version_is_that_of_the_distribution() -> None:
    assert version("bayes-irsl").count(".") == 2


# ArviZ leaves a lazily loaded numpyro behind; `irsl_models` says what is done about it.
@pytest.mark.parametrize(
    "first", ["irsl_models", "bayes_irsl.engines.nuts", "bayes_irsl.studies.recovery", "bayes_irsl.storage"]
)
def test_numpyro_is_whole_after_arviz(first: str) -> None:
    code = f"import arviz_stats, {first}, numpyro; print(numpyro.distributions.distribution.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "numpyro.distributions.distribution"
