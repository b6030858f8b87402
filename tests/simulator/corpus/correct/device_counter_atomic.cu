// device_counter_atomic.cu -- a __device__ counter, incremented by an atomic that also hands out the places
//
// twin: device_counter_plain
// launch: grid=2 block=64
// arguments: inout int y 128 zeros; in int x 128 below=10; constant int used 1 zeros
// result: np.sort(y) = np.sort(np.append(x[x > 4], np.zeros(np.count_nonzero(x <= 4))))
// compare: sorted

__device__ int used;

extern "C" __global__ void device_counter_atomic(int* y, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 4) {
        y[atomicAdd(&used, 1)] = x[i];
    }
}
