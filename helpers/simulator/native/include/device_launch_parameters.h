// device_launch_parameters.h -- everything it declares for kernels is in halo_cuda.h
