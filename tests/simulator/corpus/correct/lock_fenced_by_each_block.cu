// lock_fenced_by_each_block.cu -- every holder of the lock has a fence after it takes the lock, in one of two branches
//
// twin: lock_of_first_block_unfenced
// launch: grid=4 block=1
// arguments: inout int sum 1 zeros; inout int lock 1 zeros; in int x 4 below=100
// result: sum = [x.sum()]

extern "C" __global__ void lock_fenced_by_each_block(int* sum, int* lock, const int* x)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    if (blockIdx.x != 0) {
        __threadfence();
    } else {
        __threadfence();
    }
    *static_cast<volatile int*>(sum) += x[blockIdx.x];
    __threadfence();
    atomicExch(lock, 0);
}
