// lenet_dense_split.cu -- the network's dense layers for few images: the warps share the inputs
//
// Computes   hidden[b,u] = max(0, bias3[u] + sum_k x[b,k] fc3[k,u]);
//            logits[b,c] = bias4[c] + sum_u hidden[b,u] fc4[u,c];
//            classes[b] = the first c with the largest logit, or 255 where a logit is NaN
// Idea       A lane is a hidden unit, a warp takes every WARPS-th vector of four inputs of the
//            block's images. So a weight that a lane has loaded serves IMAGES images, and few
//            images still are work for many warps. The warps' sums meet in shared memory. The 32
//            units of an image lie in one warp: the second layer and the maximum are shuffles.
// Arrays     x: float32, (B, INPUTS), aligned to 16 bytes; fc3: (INPUTS, 32), bias3: (32,), fc4:
//            (32, 10), bias4: (10,), float32; logits: float32, (B, 10); classes: uint8, (B,). None
//            may alias.
// Launch     block = (32 * WARPS, 1, 1); grid = (ceil(B / IMAGES), 1)
// Sizes      any B >= 1; INPUTS is a multiple of 4
// Memory     shared: WARPS * IMAGES * 32 * 4 bytes, static
// Constants  WARPS, IMAGES (of a block), INPUTS by -D (defaults below)
// Reference  helpers.problems.lenet.network.dense, relu, classify

#ifndef WARPS
#define WARPS 16
#endif
#ifndef IMAGES
#define IMAGES 2
#endif
#ifndef INPUTS
#define INPUTS 1296
#endif

constexpr int UNITS = 32;
constexpr int CLASSES = 10;
constexpr int THREADS = 32 * WARPS;
constexpr int UNROLL = 4;   // vectors that a warp asks for before it uses the first
constexpr unsigned ALL_LANES = 0xffffffff;

extern "C" __global__ void __launch_bounds__(THREADS)
lenet_dense_split(
    unsigned char* classes, float* logits, const float* __restrict__ x,
    const float* __restrict__ fc3, const float* __restrict__ bias3,
    const float* __restrict__ fc4, const float* __restrict__ bias4, int B)
{
    __shared__ float parts[WARPS][IMAGES][UNITS];
    const int t = threadIdx.x;
    const int lane = t % 32;
    const int warp = t / 32;
    const int first = blockIdx.x * IMAGES;   // the block's first image

    // The first layer: a lane is a hidden unit. Images beyond the last one repeat it.
    const float* cells[IMAGES];
    for (int i = 0; i < IMAGES; ++i) {
        cells[i] = x + (size_t)min(first + i, B - 1) * INPUTS;
    }
    float sum[IMAGES] = {};
    #pragma unroll UNROLL
    for (int k = 4 * warp; k < INPUTS; k += 4 * WARPS) {
        // Load: neighbouring lanes read neighbouring weights; all lanes read the same four cells.
        float weight[4];
        for (int e = 0; e < 4; ++e) {
            weight[e] = fc3[(k + e) * UNITS + lane];
        }
        float4 cell[IMAGES];
        for (int i = 0; i < IMAGES; ++i) {
            cell[i] = *reinterpret_cast<const float4*>(cells[i] + k);
        }

        // Compute: 4 + IMAGES loads for 4 * IMAGES multiply-adds.
        for (int i = 0; i < IMAGES; ++i) {
            sum[i] += cell[i].x * weight[0];
            sum[i] += cell[i].y * weight[1];
            sum[i] += cell[i].z * weight[2];
            sum[i] += cell[i].w * weight[3];
        }
    }
    for (int i = 0; i < IMAGES; ++i) {
        parts[warp][i][lane] = sum[i];
    }
    __syncthreads();   // a warp adds what all warps have summed up

    // The second layer, an image after another. From here on a lane is a class; lanes beyond the
    // last class repeat it.
    const int mine = lane < CLASSES ? lane : CLASSES - 1;
    for (int i = warp; i < IMAGES; i += WARPS) {
        const int b = first + i;
        float hidden = bias3[lane];
        for (int w = 0; w < WARPS; ++w) {
            hidden += parts[w][i][lane];
        }
        hidden = hidden <= 0.0f ? 0.0f : hidden;   // ReLU; NaN stays
        float logit = bias4[mine];
        #pragma unroll
        for (int u = 0; u < UNITS; ++u) {
            logit += __shfl_sync(ALL_LANES, hidden, u) * fc4[u * CLASSES + mine];
        }

        // The answer.
        const bool broken = __any_sync(ALL_LANES, logit != logit);
        if (lane < CLASSES && b < B) {
            logits[(size_t)b * CLASSES + lane] = logit;
        }

        // Every lane gets the largest logit, after five exchanges; of equal ones the first class.
        int best = mine;
        for (int distance = 16; distance > 0; distance /= 2) {
            const float other_logit = __shfl_xor_sync(ALL_LANES, logit, distance);
            const int other = __shfl_xor_sync(ALL_LANES, best, distance);
            if (other_logit > logit || (other_logit == logit && other < best)) {
                logit = other_logit;
                best = other;
            }
        }
        if (lane == 0 && b < B) {
            classes[b] = broken ? 255 : best;
        }
    }
}
