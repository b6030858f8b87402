// struct_of_shared_arrays_overrun.cu -- WRONG ON PURPOSE: an index past the first array of a struct lands in the second
//
// fault: out-of-bounds
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform

struct Stage {
    float low[16];
    float high[16];
};

extern "C" __global__ void struct_of_shared_arrays_overrun(float* y, const float* x)
{
    __shared__ Stage stage;
    const int t = threadIdx.x;
    stage.low[t] = x[t]; // <- here
    __syncthreads();
    const int other = 31 - t;
    y[t] = x[t] + (other < 16 ? stage.low[other] : stage.high[other - 16]);
}
