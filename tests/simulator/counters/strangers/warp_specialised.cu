// warp_specialised.cu -- one warp writes for another, ordered by two barriers of libcu++
#include <cuda/barrier>
extern "C" __global__ void warp_specialised(float* y, const float* x, int rounds)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ float slot[32];
    __shared__ barrier full, empty;
    if (threadIdx.x == 0) {
        init(&full, 64);
        init(&empty, 64);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int k = 0; k < rounds; ++k) {
            empty.arrive_and_wait();
            slot[lane] = x[k * 32 + lane];
            (void)full.arrive();
        }
    } else {
        float sum = 0;
        (void)empty.arrive();
        for (int k = 0; k < rounds; ++k) {
            full.arrive_and_wait();
            sum += slot[31 - lane];
            if (k + 1 < rounds) (void)empty.arrive();
        }
        y[lane] = sum;
    }
}
