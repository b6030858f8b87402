"""PTX to a program of the machine, and to machine code: what a module of kernels has."""
