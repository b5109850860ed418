"""A producer, three brokers and bad weather on virtual time: all of it from one seed.

`python -m tests.simulation --seeds 1000` runs many, `--seed 7 --verbose` tells the story of one.
"""
