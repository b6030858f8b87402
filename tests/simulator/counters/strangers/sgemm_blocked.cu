// sgemm_blocked.cu -- a product of matrices: 64 x 64 tiles, 4 x 4 outputs a thread, float4 loads, A
// transposed
#define BM 64
#define BN 64
#define BK 8
#define TM 4
#define TN 4
extern "C" __global__ void sgemm_blocked(int M, int N, int K, float alpha, float* A, float* B,
                                         float beta, float* C)
{
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    const int innerRowA = threadIdx.x / (BK / 4), innerColA = threadIdx.x % (BK / 4);
    const int innerRowB = threadIdx.x / (BN / 4), innerColB = threadIdx.x % (BN / 4);
    float results[TM * TN] = {0.0}, regM[TM] = {0.0}, regN[TN] = {0.0};
    for (int k = 0; k < K; k += BK) {
        if (threadIdx.x < 128) {
            float4 tmp = reinterpret_cast<float4*>(&A[innerRowA * K + innerColA * 4])[0];
            As[(innerColA * 4 + 0) * BM + innerRowA] = tmp.x;
            As[(innerColA * 4 + 1) * BM + innerRowA] = tmp.y;
            As[(innerColA * 4 + 2) * BM + innerRowA] = tmp.z;
            As[(innerColA * 4 + 3) * BM + innerRowA] = tmp.w;
            reinterpret_cast<float4*>(&Bs[innerRowB * BN + innerColB * 4])[0] =
                reinterpret_cast<float4*>(&B[innerRowB * N + innerColB * 4])[0];
        }
        __syncthreads();
        A += BK;
        B += BK * N;
        for (int dot = 0; dot < BK; ++dot) {
            for (int i = 0; i < TM; ++i) regM[i] = As[dot * BM + threadRow * TM + i];
            for (int i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
            for (int m = 0; m < TM; ++m)
                for (int n = 0; n < TN; ++n) results[m * TN + n] += regM[m] * regN[n];
        }
        __syncthreads();
    }
    for (int m = 0; m < TM; m++) {
        float4 tmp = reinterpret_cast<float4*>(&C[(threadRow * TM + m) * N + threadCol * TN])[0];
        tmp.x = alpha * results[m * TN + 0] + beta * tmp.x;
        tmp.y = alpha * results[m * TN + 1] + beta * tmp.y;
        tmp.z = alpha * results[m * TN + 2] + beta * tmp.z;
        tmp.w = alpha * results[m * TN + 3] + beta * tmp.w;
        reinterpret_cast<float4*>(&C[(threadRow * TM + m) * N + threadCol * TN])[0] = tmp;
    }
}
