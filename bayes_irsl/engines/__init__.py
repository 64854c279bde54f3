"""Engines: frozen settings, each with a `run` that returns posterior draws of the same kind."""

# Loads numpyro whole before any submodule of it, as `irsl_models` does and for its reason.
import irsl_models as _  # noqa: F401
