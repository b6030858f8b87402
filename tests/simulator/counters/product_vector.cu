// product_vector.cu -- product of matrices: 8 x 8 outputs a thread, loads of 16 bytes, A turned
#define TILE 128
#define DEPTH 8
#define PATCH 8

extern "C" __global__ void __launch_bounds__(256) product_vector(
    float* c, const float* a, const float* b, int n, int inner)
{
    __shared__ float turned[DEPTH * TILE];   // [step][row]
    __shared__ float rows[DEPTH * TILE];     // [step][column]
    const int t = threadIdx.x;
    const int row = t / (TILE / PATCH);
    const int column = t % (TILE / PATCH);
    float sums[PATCH * PATCH] = {};
    for (int first = 0; first < inner; first += DEPTH) {
        const float4 four = *(const float4*)&a[t / 2 * inner + first + t % 2 * 4];
        turned[(t % 2 * 4 + 0) * TILE + t / 2] = four.x;
        turned[(t % 2 * 4 + 1) * TILE + t / 2] = four.y;
        turned[(t % 2 * 4 + 2) * TILE + t / 2] = four.z;
        turned[(t % 2 * 4 + 3) * TILE + t / 2] = four.w;
        *(float4*)&rows[t / 32 * TILE + t % 32 * 4] =
            *(const float4*)&b[(first + t / 32) * n + t % 32 * 4];
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k) {
            float left[PATCH], right[PATCH];
            for (int i = 0; i < PATCH; ++i) left[i] = turned[k * TILE + row * PATCH + i];
            for (int i = 0; i < PATCH; ++i) right[i] = rows[k * TILE + column * PATCH + i];
            for (int i = 0; i < PATCH; ++i)
                for (int j = 0; j < PATCH; ++j) sums[i * PATCH + j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < PATCH; ++i)
        for (int j = 0; j < PATCH; j += 4)
            *(float4*)&c[(row * PATCH + i) * n + column * PATCH + j] = make_float4(
                sums[i * PATCH + j], sums[i * PATCH + j + 1], sums[i * PATCH + j + 2],
                sums[i * PATCH + j + 3]);
}
