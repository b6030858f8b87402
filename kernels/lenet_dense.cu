// lenet_dense.cu -- the network's dense layers and its answer: 1296 -> 32 -> ReLU -> 10 -> class
//
// Computes   hidden[b,u] = max(0, bias3[u] + sum_k x[b,k] fc3[k,u]); logits[b,c] = bias4[c] + sum_u hidden[b,u] fc4[u,c];
//            classes[b] = the first c with the largest logit, or 255 where a logit is NaN
// Idea       A lane is a hidden unit, and keeps the sums of EACH images: a weight from shared memory serves EACH of them. The
//            32 units of an image lie in one warp, so the second layer and the maximum are shuffles: no memory.
// Arrays     x: float32, (B, INPUTS), aligned to 16 bytes; fc3: (INPUTS, 32), bias3: (32,), fc4: (32, 10), bias4: (10,), float32;
//            logits: float32, (B, 10); classes: uint8, (B,)
// Launch     block = (32 * WARPS, 1, 1); grid = (ceil(B / (WARPS * EACH)), 1)
// Sizes      any B; CHUNK is a multiple of 4 and divides INPUTS; the block's threads divide 8 CHUNK and CHUNK / 4 times its images.
// Memory     shared: CHUNK * (32 + WARPS * EACH) * 4 bytes, static
// Constants  WARPS, EACH (images a warp), INPUTS, CHUNK (inputs staged at a time) by -D (defaults below)
// Reference  helpers.network.dense, relu, classify
#ifndef WARPS
#define WARPS 4
#endif
#ifndef EACH
#define EACH 8
#endif
#ifndef INPUTS
#define INPUTS 1296
#endif
#ifndef CHUNK
#define CHUNK 144
#endif
constexpr int UNITS = 32, CLASSES = 10, IMAGES = WARPS * EACH, THREADS = 32 * WARPS, VECTORS = CHUNK / 4;   // of an image

extern "C" __global__ void __launch_bounds__(THREADS) lenet_dense(
    unsigned char* classes, float* logits, const float* __restrict__ x, const float* __restrict__ fc3,
    const float* __restrict__ bias3, const float* __restrict__ fc4, const float* __restrict__ bias4, int B)
{
    __shared__ __align__(16) float weights[CHUNK][UNITS], cells[IMAGES][CHUNK];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, first = blockIdx.x * IMAGES;
    float sum[EACH], out[EACH];
    for (int i = 0; i < EACH; ++i) sum[i] = bias3[lane];
    for (int k = 0; k < INPUTS; k += CHUNK) {
        if (k > 0) __syncthreads();   // not before all have used the chunk that is now overwritten
        #pragma unroll
        for (int i = 0; i < UNITS * VECTORS; i += THREADS)   // Load: the same weights for every image of the block
            reinterpret_cast<float4*>(weights)[t + i] = reinterpret_cast<const float4*>(fc3 + k * UNITS)[t + i];
        #pragma unroll
        for (int s = t, i = 0; i < IMAGES * VECTORS; s += THREADS, i += THREADS) {   // all loads are on their way at once
            const float* from = x + (size_t)(first + s / VECTORS) * INPUTS + k + s % VECTORS * 4;
            reinterpret_cast<float4*>(cells)[s] = first + s / VECTORS < B ? *reinterpret_cast<const float4*>(from) : float4();
        }
        __syncthreads();   // lanes use what other threads loaded
        #pragma unroll 4
        for (int j = 0; j < CHUNK; j += 4) {   // Compute: 4 + EACH loads for 4 * EACH multiply-adds
            float weight[4];
            for (int e = 0; e < 4; ++e) weight[e] = weights[j + e][lane];
            #pragma unroll
            for (int i = 0; i < EACH; ++i) {
                const float4 cell = *reinterpret_cast<const float4*>(&cells[warp * EACH + i][j]);   // one word for all lanes
                sum[i] += cell.x * weight[0]; sum[i] += cell.y * weight[1];
                sum[i] += cell.z * weight[2]; sum[i] += cell.w * weight[3];
            }
        }
    }
    const int mine = lane < CLASSES ? lane : CLASSES - 1;   // from here on a lane is a class; the others repeat the last one
    for (int i = 0; i < EACH; ++i) {
        sum[i] = sum[i] <= 0.0f ? 0.0f : sum[i];   // ReLU; NaN stays
        out[i] = bias4[mine];
    }
    for (int u = 0; u < UNITS; ++u) {
        const float weight = fc4[u * CLASSES + mine];
        for (int i = 0; i < EACH; ++i) out[i] += __shfl_sync(0xffffffff, sum[i], u) * weight;
    }
    for (int i = 0; i < EACH; ++i) {
        const int b = first + warp * EACH + i;
        const bool broken = __any_sync(0xffffffff, out[i] != out[i]);
        if (lane < CLASSES && b < B) logits[(size_t)b * CLASSES + lane] = out[i];
        int best = mine;
        for (int far = 16; far; far /= 2) {   // Every lane gets the largest; of equal ones the first
            const float other = __shfl_xor_sync(0xffffffff, out[i], far);
            const int its = __shfl_xor_sync(0xffffffff, best, far);
            if (other > out[i] || (other == out[i] && its < best)) { out[i] = other; best = its; }
        }
        if (lane == 0 && b < B) classes[b] = broken ? 255 : best;
    }
}
