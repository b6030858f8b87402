// mbarrier_counts_too_many_threads.cu -- WRONG ON PURPOSE: the barrier of the empty box waits for 96 threads of 64
//
// fault: fault
// launch: grid=1 block=64
// arguments: out int y 160; in int x 160 below=99

typedef unsigned long long Barrier;   // an mbarrier takes 8 bytes

__device__ unsigned shared_address(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(barrier)) : "memory");
}

__device__ void wait(Barrier* barrier, int phase)
{
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
                 "@!over bra again;\n"
                 "}" :: "r"(shared_address(barrier)), "r"(phase % 2) : "memory"); // <- here
}

__device__ void make(Barrier* barrier, int threads)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(threads) : "memory");
}

extern "C" __global__ void mbarrier_counts_too_many_threads(int* y, const int* x)
{
    __shared__ int box[32];
    __shared__ Barrier full, empty;
    const int t = threadIdx.x;
    if (t == 0) {
        make(&full, 32);
        make(&empty, 96);
    }
    __syncthreads();
    for (int k = 0; k < 5; ++k) {
        if (t < 32) {
            if (k > 0) {
                wait(&empty, k - 1); // <- here
            }
            box[t] = x[k * 32 + t];
            arrive(&full);
        } else {
            wait(&full, k);
            y[k * 32 + t - 32] = box[63 - t];
            arrive(&empty);
        }
    }
}
