// lenet_dense.cu -- the network's dense layers and its answer: 1296 -> 32 -> ReLU -> 10 -> class
//
// Computes   hidden[b,u] = max(0, bias3[u] + sum_k x[b,k] fc3[k,u]);
//            logits[b,c] = bias4[c] + sum_u hidden[b,u] fc4[u,c];
//            classes[b] = the first c with the largest logit, or 255 where a logit is NaN
// Idea       A lane is a hidden unit and keeps the sums of EACH images, so that a weight from
//            shared memory serves EACH of them. The 32 units of an image lie in one warp: the
//            second layer and the maximum are shuffles, and need no memory.
// Arrays     x: float32, (B, INPUTS), aligned to 16 bytes; fc3: (INPUTS, 32), bias3: (32,), fc4:
//            (32, 10), bias4: (10,), float32; logits: float32, (B, 10); classes: uint8, (B,). None
//            may alias.
// Launch     block = (32 * WARPS, 1, 1); grid = (ceil(B / (WARPS * EACH)), 1)
// Sizes      any B; CHUNK is a multiple of 4 and divides INPUTS; the block's threads divide 8 *
//            CHUNK and CHUNK / 4 times its images.
// Memory     shared: CHUNK * (32 + WARPS * EACH) * 4 bytes, static
// Constants  WARPS, EACH (images of a warp), INPUTS, CHUNK (inputs staged at a time) by -D
//            (defaults below)
// Reference  helpers.problems.lenet.network.dense, relu, classify

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

constexpr int UNITS = 32;
constexpr int CLASSES = 10;
constexpr int IMAGES = WARPS * EACH;   // of a block
constexpr int THREADS = 32 * WARPS;
constexpr int VECTORS = CHUNK / 4;     // of four inputs, in a chunk of an image
constexpr unsigned ALL_LANES = 0xffffffff;

extern "C" __global__ void __launch_bounds__(THREADS)
lenet_dense(
    unsigned char* classes, float* logits, const float* __restrict__ x,
    const float* __restrict__ fc3, const float* __restrict__ bias3,
    const float* __restrict__ fc4, const float* __restrict__ bias4, int B)
{
    __shared__ __align__(16) float weights[CHUNK][UNITS];
    __shared__ __align__(16) float cells[IMAGES][CHUNK];
    const int t = threadIdx.x;
    const int lane = t % 32;
    const int warp = t / 32;
    const int first = blockIdx.x * IMAGES;   // the block's first image

    // The first layer: a lane is a hidden unit.
    float sum[EACH];
    for (int i = 0; i < EACH; ++i) {
        sum[i] = bias3[lane];
    }
    for (int k = 0; k < INPUTS; k += CHUNK) {
        if (k > 0) __syncthreads();   // not before all have used the chunk that is now overwritten

        // Load a chunk of the weights, which serves all images of the block, and of these images.
        // Unrolled, all loads are on their way before the first one is stored.
        #pragma unroll
        for (int i = 0; i < UNITS * VECTORS; i += THREADS) {
            reinterpret_cast<float4*>(weights)[t + i] =
                reinterpret_cast<const float4*>(fc3 + k * UNITS)[t + i];
        }
        #pragma unroll
        for (int i = 0; i < IMAGES * VECTORS; i += THREADS) {
            const int image = first + (t + i) / VECTORS;
            const int input = k + (t + i) % VECTORS * 4;
            const float* from = x + (size_t)image * INPUTS + input;
            reinterpret_cast<float4*>(cells)[t + i] =
                image < B ? *reinterpret_cast<const float4*>(from) : float4();
        }
        __syncthreads();   // lanes use what other threads loaded

        // Compute: 4 + EACH loads for 4 * EACH multiply-adds.
        #pragma unroll 4
        for (int j = 0; j < CHUNK; j += 4) {
            float weight[4];
            for (int e = 0; e < 4; ++e) {
                weight[e] = weights[j + e][lane];
            }
            #pragma unroll
            for (int i = 0; i < EACH; ++i) {
                // All lanes want the same four cells: a broadcast.
                const float4 cell = *reinterpret_cast<const float4*>(&cells[warp * EACH + i][j]);
                sum[i] += cell.x * weight[0];
                sum[i] += cell.y * weight[1];
                sum[i] += cell.z * weight[2];
                sum[i] += cell.w * weight[3];
            }
        }
    }

    // The second layer. From here on a lane is a class; lanes beyond the last class repeat it.
    const int mine = lane < CLASSES ? lane : CLASSES - 1;
    float logit[EACH];
    for (int i = 0; i < EACH; ++i) {
        sum[i] = sum[i] <= 0.0f ? 0.0f : sum[i];   // ReLU; NaN stays
        logit[i] = bias4[mine];
    }
    for (int u = 0; u < UNITS; ++u) {
        const float weight = fc4[u * CLASSES + mine];
        for (int i = 0; i < EACH; ++i) {
            logit[i] += __shfl_sync(ALL_LANES, sum[i], u) * weight;
        }
    }

    // The answer, image by image.
    for (int i = 0; i < EACH; ++i) {
        const int b = first + warp * EACH + i;
        const bool broken = __any_sync(ALL_LANES, logit[i] != logit[i]);
        if (lane < CLASSES && b < B) {
            logits[(size_t)b * CLASSES + lane] = logit[i];
        }

        // Every lane gets the largest logit, after five exchanges; of equal ones the first class.
        int best = mine;
        for (int distance = 16; distance > 0; distance /= 2) {
            const float other_logit = __shfl_xor_sync(ALL_LANES, logit[i], distance);
            const int other = __shfl_xor_sync(ALL_LANES, best, distance);
            if (other_logit > logit[i] || (other_logit == logit[i] && other < best)) {
                logit[i] = other_logit;
                best = other;
            }
        }
        if (lane == 0 && b < B) {
            classes[b] = broken ? 255 : best;
        }
    }
}
