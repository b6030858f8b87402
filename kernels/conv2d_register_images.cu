// conv2d_register_images.cu -- convolution layer of small images, they and weights in shared memory
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[c,p,q,m], valid, not flipped (maps
//            innermost). y must not alias x or filter.
// Idea       A small image gives little work, and many channels and maps have many weights: in
//            constant memory they leave the cache of a multiprocessor, and a warp waits for each
//            piece of them. Here a block copies whole images and the weights of its maps to shared
//            memory, all at once and in the background. A thread computes PATCH_WIDTH outputs of a
//            row for MAPS maps: four weights are one load for all lanes.
// Arrays     x: float32, (B, C, H, W); y: (B, M, H - K + 1, W - K + 1); filter: (C, K, K, M).
// Launch     block = (THREADS, 1, 1): one for each patch of IMAGES images and GROUPS * MAPS maps,
//            rounded up to warps; grid = (ceil(B / IMAGES), ceil(M / (GROUPS * MAPS)))
// Sizes      any B; MAPS a multiple of 4. The images and the weights must fit into shared memory.
// Memory     shared, dynamic: (C * K * K * GROUPS * MAPS + IMAGES * C * H * W) * 4 bytes
// Constants  CHANNELS = C, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K; of a thread
//            PATCH_WIDTH, MAPS; of a block GROUPS of maps, IMAGES; by -D (defaults below: layer E2)
// Reference  helpers.reference.conv2d

#ifndef CHANNELS
#define CHANNELS 12
#endif
#ifndef OUTPUT_MAPS
#define OUTPUT_MAPS 24
#endif
#ifndef HEIGHT
#define HEIGHT 11
#endif
#ifndef WIDTH
#define WIDTH 11
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif
#ifndef PATCH_WIDTH
#define PATCH_WIDTH 5
#endif
#ifndef MAPS
#define MAPS 8
#endif
#ifndef GROUPS
#define GROUPS 3
#endif
#ifndef IMAGES
#define IMAGES 8
#endif

constexpr int K = FILTER_WIDTH;
constexpr int OUT_H = HEIGHT - K + 1;
constexpr int OUT_W = WIDTH - K + 1;
constexpr int IMAGE = CHANNELS * HEIGHT * WIDTH;   // cells
constexpr int TAPS = CHANNELS * K * K;             // weights of a map

// The block: a thread for each patch.
constexpr int PATCHES_X = (OUT_W + PATCH_WIDTH - 1) / PATCH_WIDTH;
constexpr int PATCHES = PATCHES_X * OUT_H * IMAGES;   // of one group of maps
constexpr int THREADS = (PATCHES * GROUPS + 31) / 32 * 32;
constexpr int BLOCK_MAPS = GROUPS * MAPS;
constexpr int PADDED_MAPS = (OUTPUT_MAPS + BLOCK_MAPS - 1) / BLOCK_MAPS * BLOCK_MAPS;

// Whole vectors of 16 bytes can be copied where every image begins with one.
constexpr int VECTOR = IMAGE % 4 == 0 ? 4 : 1;

__device__ float filter[TAPS * PADDED_MAPS];   // shape (C, K, K, M), spare maps 0

// Starts the copy of VECTOR floats into shared memory.
template <int BYTES>
__device__ __forceinline__ void copy_async(float* to, const float* from)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :: "r"(address), "l"(from), "n"(BYTES));
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv2d_register_images(float* y, const float* __restrict__ x, int B)
{
    extern __shared__ __align__(16) float memory[];
    float* weights = memory;                          // [channel][row][column][map]
    float* cells = memory + TAPS * BLOCK_MAPS;        // [image][channel][row][column]
    const int t = threadIdx.x;
    const int first = blockIdx.x * IMAGES;            // the block's first image
    const int first_map = blockIdx.y * BLOCK_MAPS;    // and map

    // Load: all copies are on their way before the block waits for the first.
    for (int i = t; i < TAPS * BLOCK_MAPS / 4; i += THREADS) {
        const int tap = 4 * i / BLOCK_MAPS;
        const int map = 4 * i % BLOCK_MAPS;
        copy_async<16>(weights + 4 * i, filter + tap * PADDED_MAPS + first_map + map);
    }
    const int count = min(IMAGES, B - first) * IMAGE;   // cells that are there
    for (int i = VECTOR * t; i < count; i += VECTOR * THREADS) {
        copy_async<4 * VECTOR>(cells + i, x + (size_t)first * IMAGE + i);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();   // patches read what other threads have copied

    // The thread's patch: its group of maps, image, row and first column. Threads beyond the last
    // patch repeat it, and so do the patches of images that are not there.
    const int patch = min(t, PATCHES * GROUPS - 1);
    const int group = patch / PATCHES;
    const int image = patch / (PATCHES_X * OUT_H) % IMAGES;
    const int row = patch / PATCHES_X % OUT_H;
    const int column = min(patch % PATCHES_X * PATCH_WIDTH, OUT_W - PATCH_WIDTH);
    const int present = min(image, B - first - 1);

    // Compute. For one row of the filter at a time: read the cells that the patch needs into
    // registers, then multiply each by every weight that it meets.
    float sum[MAPS][PATCH_WIDTH] = {};
    const float* window = cells + present * IMAGE + row * WIDTH + column;
    const float* taps = weights + group * MAPS;
    #pragma unroll 1
    for (int c = 0; c < CHANNELS; ++c) {
        #pragma unroll 1
        for (int p = 0; p < K; ++p) {
            float cell[PATCH_WIDTH + K - 1];
            #pragma unroll
            for (int i = 0; i < PATCH_WIDTH + K - 1; ++i) {
                cell[i] = window[i];
            }
            #pragma unroll
            for (int q = 0; q < K; ++q) {
                #pragma unroll
                for (int m = 0; m < MAPS; m += 4) {
                    const float4 four = *reinterpret_cast<const float4*>(taps + q * BLOCK_MAPS + m);
                    for (int w = 0; w < PATCH_WIDTH; ++w) {
                        sum[m][w] += four.x * cell[w + q];
                        sum[m + 1][w] += four.y * cell[w + q];
                        sum[m + 2][w] += four.z * cell[w + q];
                        sum[m + 3][w] += four.w * cell[w + q];
                    }
                }
            }
            window += WIDTH;
            taps += K * BLOCK_MAPS;
        }
        window += (HEIGHT - K) * WIDTH;
    }

    // Store. A last patch that begins further left leaves out what the patch before it stores.
    const int begin = patch % PATCHES_X * PATCH_WIDTH;
    const int map = first_map + group * MAPS;
    float* to = y + (((size_t)(first + image) * OUTPUT_MAPS + map) * OUT_H + row) * OUT_W + column;
    if (t < PATCHES * GROUPS && first + image < B) {
        for (int m = 0; m < MAPS; ++m) {
            for (int w = 0; w < PATCH_WIDTH; ++w) {
                if (map + m < OUTPUT_MAPS && column + w >= begin) {
                    to[m * OUT_H * OUT_W + w] = sum[m][w];
                }
            }
        }
    }
}
