"""A corpus of kernels under compute-sanitizer, beside the simulator."""
