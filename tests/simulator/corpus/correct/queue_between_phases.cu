// queue_between_phases.cu -- a shared queue: places by an atomic, a barrier, then the block reads it
//
// launch: grid=2 block=64
// arguments: out int y 2; in int x 128 below=100
// result: y = [np.sum(part[part % 3 == 0]) for part in np.split(x, 2)]

extern "C" __global__ void queue_between_phases(int* y, const int* x)
{
    __shared__ int queue[64];
    __shared__ int used;
    const int t = threadIdx.x, value = x[blockIdx.x * 64 + t];
    if (t == 0) {
        used = 0;
    }
    __syncthreads();
    if (value % 3 == 0) {
        queue[atomicAdd(&used, 1)] = value;
    }
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int k = 0; k < used; ++k) {
            sum += queue[k];
        }
        y[blockIdx.x] = sum;
    }
}
