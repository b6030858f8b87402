// distances.cu -- distances between all points, half of the threads load
extern "C" __global__ void distances(float* d, const float* p, int n, int dims)
{
    __shared__ float a[16][9], b[16][9];
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < dims; first += 8) {
        if (threadIdx.x < 8) {
            const int k = first + threadIdx.x, q = blockIdx.x * 16 + threadIdx.y;
            a[threadIdx.y][threadIdx.x] = i < n && k < dims ? p[i * dims + k] : 0;
            b[threadIdx.y][threadIdx.x] = q < n && k < dims ? p[q * dims + k] : 0;
        }
        __syncthreads();
        for (int k = 0; k < 8; ++k) {
            const float delta = a[threadIdx.y][k] - b[threadIdx.x][k];
            sum += delta * delta;
        }
        __syncthreads();
    }
    if (i < n && j < n) d[i * n + j] = sqrtf(sum);
}
