// carved_arrays_apart.cu -- two arrays in the dynamic shared memory, one behind the other
//
// twin: carved_arrays_overlap
// launch: grid=2 block=64 shared=768
// arguments: out double sums 128; in float x 128 integers; in uint8 keep 128 below=2
// result: sums = np.where(np.flip(keep.reshape(2, 64), 1), np.flip(x.reshape(2, 64), 1) ** 2, 0)

extern "C" __global__ void carved_arrays_apart(double* sums, const float* x, const unsigned char* keep)
{
    extern __shared__ double pool[];
    double* square = pool;
    float* stage = (float*)(square + blockDim.x);
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    const int mirrored = blockDim.x - 1 - t;
    stage[t] = x[i];
    __syncthreads();
    square[t] = (double)stage[mirrored] * stage[mirrored];
    sums[i] = keep[blockIdx.x * blockDim.x + mirrored] ? square[t] : 0.0;
}
