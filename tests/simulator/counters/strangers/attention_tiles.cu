// attention_tiles.cu -- attention with a running maximum and sum, keys and values in tiles
#define D 16
#define T 32
extern "C" __global__ void attention_tiles(float* out, const float* Q, const float* Kmat,
                                           const float* V, int n)
{
    __shared__ float keys[T][D], values[T][D];
    const int i = blockIdx.x * T + threadIdx.x;
    float q[D], sum[D], most = -INFINITY, total = 0;
    for (int d = 0; d < D; ++d) {
        q[d] = i < n ? Q[i * D + d] * 0.25f : 0;
        sum[d] = 0;
    }
    for (int first = 0; first < n; first += T) {
        const int j = first + threadIdx.x;
        for (int d = 0; d < D; ++d) {
            keys[threadIdx.x][d] = j < n ? Kmat[j * D + d] : 0;
            values[threadIdx.x][d] = j < n ? V[j * D + d] : 0;
        }
        __syncthreads();
        for (int k = 0; k < T && first + k < n; ++k) {
            float score = 0;
            for (int d = 0; d < D; ++d) score += q[d] * keys[k][d];
            const float next = fmaxf(most, score), shrink = __expf(most - next);
            const float weight = __expf(score - next);
            total = total * shrink + weight;
            for (int d = 0; d < D; ++d) sum[d] = sum[d] * shrink + weight * values[k][d];
            most = next;
        }
        __syncthreads();
    }
    if (i < n)
        for (int d = 0; d < D; ++d) out[i * D + d] = sum[d] / total;
}
