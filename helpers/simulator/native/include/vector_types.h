// vector_types.h -- everything it declares for kernels is in halo_cuda.h
