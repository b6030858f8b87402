"""The machine: its C++ sources, the library that is built of them, and device memory."""
