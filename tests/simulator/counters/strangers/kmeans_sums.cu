// kmeans_sums.cu -- sums of the points of each cluster by atomics of floats
#define KS 4
#define D 3
extern "C" __global__ void kmeans_sums(const float* point, const int* label, float* sum,
                                       int* count, int n)
{
    __shared__ float part[KS * D];
    __shared__ int members[KS];
    if (threadIdx.x < KS * D) part[threadIdx.x] = 0;
    if (threadIdx.x < KS) members[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int k = label[i];
        for (int d = 0; d < D; ++d) atomicAdd(&part[k * D + d], point[i * D + d]);
        atomicAdd(&members[k], 1);
    }
    __syncthreads();
    if (threadIdx.x < KS * D) atomicAdd(&sum[threadIdx.x], part[threadIdx.x]);
    if (threadIdx.x < KS) atomicAdd(&count[threadIdx.x], members[threadIdx.x]);
}
