// sgemm_warp_tiles.cu -- each warp computes 32 x 64 cells, each lane two patches of 4 x 4 in a row
// of them
#define BM 64
#define BN 128
#define BK 8
#define WM 32
#define WN 64
extern "C" __global__ void __launch_bounds__(128)
sgemm_warp_tiles(float* C, const float* A, const float* B, int N, int K, float alpha, float beta)
{
    __shared__ float As[BK][BM];
    __shared__ float Bs[BK][BN];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warpRow = warp / (BN / WN), warpColumn = warp % (BN / WN);
    const int laneRow = lane / 8, laneColumn = lane % 8;
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += (blockIdx.y * BM + warpRow * WM) * N + blockIdx.x * BN + warpColumn * WN;
    float sums[2][2][4][4] = {};
    for (int tile = 0; tile < K; tile += BK) {
        {
            const int r = threadIdx.x / 2, c = threadIdx.x % 2 * 4;
            const float4 v = *reinterpret_cast<const float4*>(&A[r * K + c]);
            As[c][r] = v.x;
            As[c + 1][r] = v.y;
            As[c + 2][r] = v.z;
            As[c + 3][r] = v.w;
        }
        for (int r = threadIdx.x / 32; r < BK; r += 4)
            *reinterpret_cast<float4*>(&Bs[r][lane * 4]) =
                *reinterpret_cast<const float4*>(&B[r * N + lane * 4]);
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[2][4], b[2][4];
            for (int s = 0; s < 2; ++s)
                for (int i = 0; i < 4; ++i) {
                    a[s][i] = As[k][warpRow * WM + s * 16 + laneRow * 4 + i];
                    b[s][i] = Bs[k][warpColumn * WN + s * 32 + laneColumn * 4 + i];
                }
            for (int s = 0; s < 2; ++s)
                for (int u = 0; u < 2; ++u)
                    for (int i = 0; i < 4; ++i)
                        for (int j = 0; j < 4; ++j) sums[s][u][i][j] += a[s][i] * b[u][j];
        }
        A += BK;
        B += BK * N;
        __syncthreads();
    }
    for (int s = 0; s < 2; ++s)
        for (int u = 0; u < 2; ++u)
            for (int i = 0; i < 4; ++i) {
                float4* cell = reinterpret_cast<float4*>(
                    &C[(s * 16 + laneRow * 4 + i) * N + u * 32 + laneColumn * 4]);
                float4 v = *cell;
                v.x = alpha * sums[s][u][i][0] + beta * v.x;
                v.y = alpha * sums[s][u][i][1] + beta * v.y;
                v.z = alpha * sums[s][u][i][2] + beta * v.z;
                v.w = alpha * sums[s][u][i][3] + beta * v.w;
                *cell = v;
            }
}
