// sgemm_column_of_eight.cu -- a thread computes eight rows of one column, from tiles in shared
// memory
#define BM 64
#define BN 64
#define BK 8
#define TM 8
extern "C" __global__ void sgemm_column_of_eight(float* C, const float* A, const float* B, int N,
    int K)
{
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    const int column = threadIdx.x % BN, row = threadIdx.x / BN;
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    const int aColumn = threadIdx.x % BK, aRow = threadIdx.x / BK;
    float sums[TM] = {0.0f};
    for (int tile = 0; tile < K; tile += BK) {
        As[aRow * BK + aColumn] = A[aRow * K + aColumn];
        Bs[row * BN + column] = B[row * N + column];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (int k = 0; k < BK; ++k) {
            const float b = Bs[k * BN + column];
            for (int r = 0; r < TM; ++r) sums[r] += As[(row * TM + r) * BK + k] * b;
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; ++r) C[(row * TM + r) * N + column] = sums[r];
}
