"""Engines: frozen settings, each with a `run` that returns posterior draws of the same kind."""
