// lock_fenced_for_all_blocks.cu -- a fence of the device after the lock is taken
//
// twin: lock_fenced_for_a_block
// launch: grid=4 block=1
// arguments: inout int sum 1 zeros; inout int lock 1 zeros; in int x 4 below=100
// result: sum = [x.sum()]

extern "C" __global__ void lock_fenced_for_all_blocks(int* sum, int* lock, const int* x)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *static_cast<volatile int*>(sum) += x[blockIdx.x];
    __threadfence();
    atomicExch(lock, 0);
}
