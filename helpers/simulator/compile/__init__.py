"""A source to PTX: NVIDIA's compilers, their headers, options and cache, and debug information."""
