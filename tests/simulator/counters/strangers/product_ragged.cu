// product_ragged.cu -- a product by padded tiles, any sizes
#define T 16
extern "C" __global__ void product_ragged(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[T][T], b[T][T + 1];
    int r = blockIdx.y * T + threadIdx.y, c = blockIdx.x * T + threadIdx.x;
    float s = 0;
    for (int k = 0; k < K; k += T) {
        a[threadIdx.y][threadIdx.x] = r < M && k + threadIdx.x < K ? A[r * K + k + threadIdx.x] : 0;
        b[threadIdx.x][threadIdx.y] = k + threadIdx.y < K && c < N ? B[(k + threadIdx.y) * N + c] : 0;
        __syncthreads();
        for (int j = 0; j < T; j++) s += a[threadIdx.y][j] * b[threadIdx.x][j];
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = s;
}
