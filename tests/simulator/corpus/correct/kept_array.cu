// kept_array.cu -- the same kernel with an array that is still there
//
// twin: freed_array
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// result: y = x

extern "C" __global__ void kept_array(float* y, const float* x)
{
    y[threadIdx.x] = x[threadIdx.x];
}
