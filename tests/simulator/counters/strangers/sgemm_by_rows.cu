// sgemm_by_rows.cu -- the first try: neighbouring threads take neighbouring rows
extern "C" __global__ void sgemm_by_rows(float* C, const float* A, const float* B, int M, int N,
    int K)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && column < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
        C[row * N + column] = sum;
    }
}
