// lock_fenced_for_a_block.cu -- WRONG ON PURPOSE: the fence after the lock orders memory for one block, and several take the lock
//
// fault: race
// array: sum
// launch: grid=4 block=1
// arguments: inout int sum 1 zeros; inout int lock 1 zeros; in int x 4 below=100

extern "C" __global__ void lock_fenced_for_a_block(int* sum, int* lock, const int* x)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence_block();
    *static_cast<volatile int*>(sum) += x[blockIdx.x]; // <- here
    __threadfence();
    atomicExch(lock, 0);
}
