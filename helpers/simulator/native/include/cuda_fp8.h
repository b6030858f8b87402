// cuda_fp8.h -- refused by name
#error "the simulator has no 8-bit floating-point types (cuda_fp8.h): this kernel needs a GPU"
