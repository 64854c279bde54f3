"""The posterior as a normal around its mean: of tables so large that every look at their cells counts."""
