// curand_kernel.h -- refused by name
#error "the simulator has no cuRAND (curand_kernel.h): this kernel needs a GPU"
