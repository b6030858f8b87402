// bitonic_sort.cu -- a bitonic sort of a block in place: each step's pairs are disjoint, a barrier between steps
//
// launch: grid=1 block=128
// arguments: inout int x 128 below=1000
// result: x = np.sort(x)

extern "C" __global__ void bitonic_sort(int* x)
{
    __shared__ int cells[128];
    const int t = threadIdx.x;
    cells[t] = x[t];
    __syncthreads();
    for (int size = 2; size <= 128; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            const int other = t ^ step;
            if (other > t && (cells[t] > cells[other]) == ((t & size) == 0)) {
                const int held = cells[t];
                cells[t] = cells[other];
                cells[other] = held;
            }
            __syncthreads();
        }
    }
    x[t] = cells[t];
}
