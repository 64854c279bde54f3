"""Rules that tables of responses must keep, one small function each; `catalogue` lists them."""
