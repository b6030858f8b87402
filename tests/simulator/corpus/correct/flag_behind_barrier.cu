// flag_behind_barrier.cu -- one thread decides for the block, and a barrier stands before the others read it
//
// twin: flag_without_barrier
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform
// result: y = np.where(np.repeat(x[::64] > 0, 64), x, 0)

extern "C" __global__ void flag_behind_barrier(float* y, const float* x)
{
    __shared__ bool skip;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        skip = !(x[i] > 0.0f);
    }
    __syncthreads();
    y[i] = skip ? 0.0f : x[i];
}
