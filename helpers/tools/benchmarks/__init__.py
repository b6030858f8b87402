"""The recorded benchmarks, a module for each; `python -m helpers.tools.benchmarks` runs them."""
