// cuda_pipeline.h -- refused by name
#error "the simulator has no pipelines of asynchronous copies (cuda_pipeline.h): this kernel needs a GPU"
