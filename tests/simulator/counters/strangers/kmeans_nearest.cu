// kmeans_nearest.cu -- centroids in shared memory; a sum of squares that is too large ends early
extern "C" __global__ void kmeans_nearest(int* label, const float* points, const float* centres,
    int n, int k, int dims)
{
    extern __shared__ float centre[];
    for (int j = threadIdx.x; j < k * dims; j += blockDim.x) centre[j] = centres[j];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 3.402823466e+38f;
    int chosen = -1;
    for (int c = 0; c < k; ++c) {
        float sum = 0.0f;
        for (int d = 0; d < dims && sum < best; ++d) {
            const float difference = points[i * dims + d] - centre[c * dims + d];
            sum += difference * difference;
        }
        if (sum < best) {
            best = sum;
            chosen = c;
        }
    }
    label[i] = chosen;
}
