// carved_arrays_overlap.cu -- WRONG ON PURPOSE: stage begins in the middle of sums
//
// fault: race
// array: pool
// launch: grid=2 block=64 shared=768
// arguments: out double sums 128; in float x 128 integers; in uint8 keep 128 below=2

extern "C" __global__ void carved_arrays_overlap(double* sums, const float* x, const unsigned char* keep)
{
    extern __shared__ double pool[];
    double* square = pool;
    float* stage = (float*)(square + blockDim.x / 2);
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    const int mirrored = blockDim.x - 1 - t;
    stage[t] = x[i];
    __syncthreads();
    square[t] = (double)stage[mirrored] * stage[mirrored]; // <- here
    sums[i] = keep[blockIdx.x * blockDim.x + mirrored] ? square[t] : 0.0;
}
