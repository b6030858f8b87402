// math_functions.h -- everything it declares for kernels is in halo_cuda.h
