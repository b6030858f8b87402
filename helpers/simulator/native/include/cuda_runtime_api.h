// cuda_runtime_api.h -- everything it declares for kernels is in halo_cuda.h
