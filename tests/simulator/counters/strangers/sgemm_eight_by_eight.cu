// sgemm_eight_by_eight.cu -- a thread computes 8 x 8 cells; tiles are loaded with strides
#define BM 128
#define BN 128
#define BK 8
#define TM 8
#define TN 8
extern "C" __global__ void sgemm_eight_by_eight(float* C, const float* A, const float* B, int N,
    int K)
{
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    const int row = threadIdx.x / (BN / TN), column = threadIdx.x % (BN / TN);
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    const int aRow = threadIdx.x / BK, aColumn = threadIdx.x % BK;
    const int bRow = threadIdx.x / BN, bColumn = threadIdx.x % BN;
    const int aStep = blockDim.x / BK, bStep = blockDim.x / BN;
    float sums[TM][TN] = {};
    float a[TM], b[TN];
    for (int tile = 0; tile < K; tile += BK) {
        for (int r = 0; r < BM; r += aStep) As[(aRow + r) * BK + aColumn] = A[(aRow + r) * K +
            aColumn];
        for (int r = 0; r < BK; r += bStep) Bs[(bRow + r) * BN + bColumn] = B[(bRow + r) * N +
            bColumn];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (int k = 0; k < BK; ++k) {
            for (int i = 0; i < TM; ++i) a[i] = As[(row * TM + i) * BK + k];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k * BN + column * TN + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) C[(row * TM + i) * N + column * TN + j] = sums[i][j];
}
