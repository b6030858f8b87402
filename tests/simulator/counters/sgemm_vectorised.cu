// sgemm_vectorised.cu -- the step of the well-known ladder of SGEMM with vector loads: C = alpha A B
// + beta C, row-major, sizes that the tile divides; A lies transposed in shared memory
#define BM 64
#define BN 64
#define BK 8
#define TM 8
#define TN 4
extern "C" __global__ void __launch_bounds__((BM * BN) / (TM * TN))
sgemm_vectorised(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C)
{
    const unsigned row = blockIdx.y, col = blockIdx.x;
    const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    A += row * BM * K;
    B += col * BN;
    C += row * BM * N + col * BN;
    const unsigned rowA = threadIdx.x / (BK / 4), colA = threadIdx.x % (BK / 4);
    const unsigned rowB = threadIdx.x / (BN / 4), colB = threadIdx.x % (BN / 4);
    float sums[TM * TN] = {0.0};
    float regM[TM] = {0.0}, regN[TN] = {0.0};
    for (unsigned bk = 0; bk < K; bk += BK) {
        float4 tmp = reinterpret_cast<float4 *>(&A[rowA * K + colA * 4])[0];
        As[(colA * 4 + 0) * BM + rowA] = tmp.x;
        As[(colA * 4 + 1) * BM + rowA] = tmp.y;
        As[(colA * 4 + 2) * BM + rowA] = tmp.z;
        As[(colA * 4 + 3) * BM + rowA] = tmp.w;
        reinterpret_cast<float4 *>(&Bs[rowB * BN + colB * 4])[0] =
            reinterpret_cast<float4 *>(&B[rowB * N + colB * 4])[0];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (unsigned k = 0; k < BK; ++k) {
            for (unsigned i = 0; i < TM; ++i) regM[i] = As[k * BM + threadRow * TM + i];
            for (unsigned i = 0; i < TN; ++i) regN[i] = Bs[k * BN + threadCol * TN + i];
            for (unsigned m = 0; m < TM; ++m)
                for (unsigned n = 0; n < TN; ++n) sums[m * TN + n] += regM[m] * regN[n];
        }
        __syncthreads();
    }
    for (unsigned m = 0; m < TM; m += 1)
        for (unsigned n = 0; n < TN; n += 4) {
            float4 *cells = reinterpret_cast<float4 *>(
                &C[(threadRow * TM + m) * N + threadCol * TN + n]);
            float4 tmp = cells[0];
            tmp.x = alpha * sums[m * TN + n] + beta * tmp.x;
            tmp.y = alpha * sums[m * TN + n + 1] + beta * tmp.y;
            tmp.z = alpha * sums[m * TN + n + 2] + beta * tmp.z;
            tmp.w = alpha * sums[m * TN + n + 3] + beta * tmp.w;
            cells[0] = tmp;
        }
}
