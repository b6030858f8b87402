"""The problems that the kernels solve, one module or folder each: data, launches, checks."""
