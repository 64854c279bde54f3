"""Figures of a fit; `catalogue.FIGURES` lists them."""
