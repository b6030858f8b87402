// nodes_pushed_by_cas.cu -- each thread pushes nodes onto one list, and the last block walks it
//
// launch: grid=4 block=8
// arguments: out int total 1; inout int head 1 zeros; inout int done 1 zeros; scratch int next 65; scratch int value 65; in int x 64 below=100
// result: total = [x.sum()]

extern "C" __global__ void nodes_pushed_by_cas(int* total, int* head, int* done, int* next, int* value, const int* x)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 2; ++k) {
        const int node = 2 * t + k + 1;
        value[node] = x[node - 1];
        int top = atomicAdd(head, 0);
        for (;;) {
            next[node] = top;
            __threadfence();
            const int before = atomicCAS(head, top, node);
            if (before == top) {
                break;
            }
            top = before;
        }
    }
    __threadfence();
    if (atomicAdd(done, 1) == gridDim.x * blockDim.x - 1) {
        __threadfence();
        int sum = 0;
        for (int node = atomicAdd(head, 0); node != 0; node = static_cast<volatile int*>(next)[node]) {
            sum += static_cast<volatile int*>(value)[node];
        }
        *total = sum;
        atomicExch(head, 0);
    }
}
