"""Checks of a fit, one function each, joined in the list of `bayes_irsl.diagnostics`."""
