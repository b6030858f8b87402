// cooperative_groups/memcpy_async.h -- refused by name
#error "the simulator has no asynchronous copies (cooperative_groups/memcpy_async.h): this kernel needs a GPU"
