// cub/cub.cuh -- refused by name
#error "the simulator has no CUB (cub/cub.cuh): this kernel needs a GPU"
