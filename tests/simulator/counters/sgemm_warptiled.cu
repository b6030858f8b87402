// sgemm_warptiled.cu -- the next step of that ladder: a tile of BM x BN for a block, WM x WN for a
// warp, and TM x TN for a thread, WMITER x WNITER times
#define BM 64
#define BN 64
#define BK 16
#define WM 32
#define WN 32
#define WNITER 2
#define TM 4
#define TN 4
#define THREADS 128
#define WMITER ((WM * WN) / (32 * TM * TN * WNITER))
#define WSUBM (WM / WMITER)
#define WSUBN (WN / WNITER)
extern "C" __global__ void __launch_bounds__(THREADS)
sgemm_warptiled(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C)
{
    const unsigned row = blockIdx.y, col = blockIdx.x;
    const unsigned warp = threadIdx.x / 32, wcol = warp % (BN / WN), wrow = warp / (BN / WN);
    const unsigned lane = threadIdx.x % 32, tcol = lane % (WSUBN / TN), trow = lane / (WSUBN / TN);
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    A += row * BM * K;
    B += col * BN;
    C += (row * BM + wrow * WM) * N + col * BN + wcol * WN;
    const unsigned rowA = threadIdx.x / (BK / 4), colA = threadIdx.x % (BK / 4);
    const unsigned strideA = THREADS * 4 / BK;
    const unsigned rowB = threadIdx.x / (BN / 4), colB = threadIdx.x % (BN / 4);
    const unsigned strideB = THREADS / (BN / 4);
    float sums[WMITER * TM * WNITER * TN] = {0.0};
    float regM[WMITER * TM] = {0.0}, regN[WNITER * TN] = {0.0};
    for (unsigned bk = 0; bk < K; bk += BK) {
        for (unsigned o = 0; o + strideA <= BM; o += strideA) {
            const float4 tmp = reinterpret_cast<const float4 *>(&A[(rowA + o) * K + colA * 4])[0];
            As[(colA * 4 + 0) * BM + rowA + o] = tmp.x;
            As[(colA * 4 + 1) * BM + rowA + o] = tmp.y;
            As[(colA * 4 + 2) * BM + rowA + o] = tmp.z;
            As[(colA * 4 + 3) * BM + rowA + o] = tmp.w;
        }
        for (unsigned o = 0; o + strideB <= BK; o += strideB)
            reinterpret_cast<float4 *>(&Bs[(rowB + o) * BN + colB * 4])[0] =
                reinterpret_cast<const float4 *>(&B[(rowB + o) * N + colB * 4])[0];
        __syncthreads();
        for (unsigned k = 0; k < BK; ++k) {
            for (unsigned s = 0; s < WMITER; ++s)
                for (unsigned i = 0; i < TM; ++i)
                    regM[s * TM + i] = As[k * BM + wrow * WM + s * WSUBM + trow * TM + i];
            for (unsigned s = 0; s < WNITER; ++s)
                for (unsigned i = 0; i < TN; ++i)
                    regN[s * TN + i] = Bs[k * BN + wcol * WN + s * WSUBN + tcol * TN + i];
            for (unsigned sm = 0; sm < WMITER; ++sm)
                for (unsigned sn = 0; sn < WNITER; ++sn)
                    for (unsigned m = 0; m < TM; ++m)
                        for (unsigned n = 0; n < TN; ++n)
                            sums[(sm * TM + m) * (WNITER * TN) + sn * TN + n] +=
                                regM[sm * TM + m] * regN[sn * TN + n];
        }
        A += BK;
        B += BK * N;
        __syncthreads();
    }
    for (unsigned sm = 0; sm < WMITER; ++sm)
        for (unsigned sn = 0; sn < WNITER; ++sn) {
            float *mine = C + (sm * WSUBM) * N + sn * WSUBN;
            for (unsigned m = 0; m < TM; m += 1)
                for (unsigned n = 0; n < TN; n += 4) {
                    float4 *cells =
                        reinterpret_cast<float4 *>(&mine[(trow * TM + m) * N + tcol * TN + n]);
                    float4 tmp = cells[0];
                    const int i = (sm * TM + m) * (WNITER * TN) + sn * TN + n;
                    tmp.x = alpha * sums[i + 0] + beta * tmp.x;
                    tmp.y = alpha * sums[i + 1] + beta * tmp.y;
                    tmp.z = alpha * sums[i + 2] + beta * tmp.z;
                    tmp.w = alpha * sums[i + 3] + beta * tmp.w;
                    cells[0] = tmp;
                }
        }
}
