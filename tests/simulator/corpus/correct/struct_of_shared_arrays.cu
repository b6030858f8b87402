// struct_of_shared_arrays.cu -- two shared arrays in one struct
//
// twin: struct_of_shared_arrays_overrun
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform
// result: y = x + x[::-1]

struct Stage {
    float low[16];
    float high[16];
};

extern "C" __global__ void struct_of_shared_arrays(float* y, const float* x)
{
    __shared__ Stage stage;
    const int t = threadIdx.x;
    if (t < 16) stage.low[t] = x[t];
    else stage.high[t - 16] = x[t];
    __syncthreads();
    const int other = 31 - t;
    y[t] = x[t] + (other < 16 ? stage.low[other] : stage.high[other - 16]);
}
