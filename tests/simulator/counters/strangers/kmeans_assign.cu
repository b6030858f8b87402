// kmeans_assign.cu -- the nearest centre of each point, sums in fixed point by atomics in shared
// memory
#ifndef DIM
#define DIM 3
#endif
#define K 10
extern "C" __global__ void kmeans_assign(int* nearest, unsigned long long* sums, int* sizes,
                                         const float* points, const float* centres, int n)
{
    __shared__ float c[K][DIM];
    __shared__ int s_sizes[K];
    __shared__ int s_sums[K * DIM];
    for (int k = threadIdx.x; k < K * DIM; k += blockDim.x) {
        c[k / DIM][k % DIM] = centres[k];
        s_sums[k] = 0;
        if (k < K) s_sizes[k] = 0;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float p[DIM];
        for (int d = 0; d < DIM; d++) p[d] = points[i * DIM + d];
        float best = 1e30f;
        int at = 0;
        for (int k = 0; k < K; k++) {
            float distance = 0;
            for (int d = 0; d < DIM; d++) distance += (p[d] - c[k][d]) * (p[d] - c[k][d]);
            if (distance < best) {
                best = distance;
                at = k;
            }
        }
        nearest[i] = at;
        atomicAdd(&s_sizes[at], 1);
        for (int d = 0; d < DIM; d++)
            atomicAdd(&s_sums[at * DIM + d], __float2int_rn(p[d] * 1024.f));
    }
    __syncthreads();
    if (threadIdx.x < K) atomicAdd(&sizes[threadIdx.x], s_sizes[threadIdx.x]);
    for (int k = threadIdx.x; k < K * DIM; k += blockDim.x)
        atomicAdd(&sums[k], (unsigned long long)(long long)s_sums[k]);
}
