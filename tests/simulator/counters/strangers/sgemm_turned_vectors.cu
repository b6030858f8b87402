// sgemm_turned_vectors.cu -- A's tile is turned while it is stored; both are loaded by vectors of
// four
#define BM 64
#define BN 64
#define BK 16
#define TM 4
#define TN 4
extern "C" __global__ void __launch_bounds__(256)
sgemm_turned_vectors(float* C, const float* A, const float* B, int N, int K)
{
    __shared__ float As[BK * BM];
    __shared__ float Bs[BK * BN];
    const int row = threadIdx.x / (BN / TN), column = threadIdx.x % (BN / TN);
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    const int aRow = threadIdx.x / (BK / 4), aColumn = threadIdx.x % (BK / 4);
    const int bRow = threadIdx.x / (BN / 4), bColumn = threadIdx.x % (BN / 4);
    float sums[TM * TN] = {0.0f};
    for (int tile = 0; tile < K; tile += BK) {
        const float4 four = reinterpret_cast<const float4*>(&A[aRow * K + aColumn * 4])[0];
        As[(aColumn * 4 + 0) * BM + aRow] = four.x;
        As[(aColumn * 4 + 1) * BM + aRow] = four.y;
        As[(aColumn * 4 + 2) * BM + aRow] = four.z;
        As[(aColumn * 4 + 3) * BM + aRow] = four.w;
        reinterpret_cast<float4*>(&Bs[bRow * BN + bColumn * 4])[0] =
            reinterpret_cast<const float4*>(&B[bRow * N + bColumn * 4])[0];
        __syncthreads();
        A += BK;
        B += BK * N;
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4*>(&As[k * BM + row * TM]);
            const float4 b = *reinterpret_cast<const float4*>(&Bs[k * BN + column * TN]);
            const float as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) sums[i * TN + j] += as[i] * bs[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        reinterpret_cast<float4*>(&C[(row * TM + i) * N + column * TN])[0] =
            make_float4(sums[i * TN], sums[i * TN + 1], sums[i * TN + 2], sums[i * TN + 3]);
}
