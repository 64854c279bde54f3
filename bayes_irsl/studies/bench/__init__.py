"""What the engines cost and what they give, beside other ways to the same answers: `make bench`."""
