// lock_freed_by_exchange.cu -- a value and its place, guarded by a lock
//
// twin: lock_freed_by_plain_store
// launch: grid=8 block=32
// arguments: inout int best 1 zeros; inout int where 1 zeros; inout int lock 1 zeros; in int x 8 permutation
// result: best = [x.max()]
// result: where = [x.argmax()]

extern "C" __global__ void lock_freed_by_exchange(volatile int* best, volatile int* where, int* lock, const int* x)
{
    if (threadIdx.x == 0) {
        while (atomicExch(lock, 1) != 0) {
        }
        __threadfence();
        if (x[blockIdx.x] >= *best) {
            *best = x[blockIdx.x];
            *where = blockIdx.x;
        }
        __threadfence();
        atomicExch(lock, 0);
    }
}
