// lenet_conv_pool.cu -- convolution, ReLU and max-pool in one launch: the sums never leave the multiprocessor
//
// Computes   y = max-pool POOL of max(0, x * filter), valid, not flipped; windows over the lower or right edge are cut; NaN stays
// Idea       conv2d_register_tiled's patches, but a patch hands on its largest sums. Of floats that are not negative the larger
//            one has the larger bits, and the others are negative ints: a maximum of ints from 0 is ReLU and pool at once.
// Arrays     x: float32, (B, CHANNELS, HEIGHT, WIDTH), aligned to 16 bytes; y: float32, (B, OUTPUT_MAPS, POOLED_H, POOLED_W)
// Launch     block = PATCHES_X * PATCHES_Y threads, rounded up to warps; grid = (tiles of a map, ceil(OUTPUT_MAPS / MAPS), B)
// Sizes      any B; K <= 15. Tiles end between windows, or cover the map; a patch has whole windows, or a window whole patches.
// Memory     shared: (CHANNELS * ROWS * PITCH + MAPS * WINDOWS) * 4 bytes, static. constant: at most 65,536 bytes.
// Constants  as conv2d_register_tiled's, without IMAGES (1) and STAGED (all channels); and POOL. helpers.lenet gives all.
// Reference  helpers.network.max_pool of helpers.network.relu of helpers.reference.conv2d
constexpr int K = FILTER_WIDTH, OUT_H = HEIGHT - K + 1, OUT_W = WIDTH - K + 1, unroll = UNROLL;
constexpr int TILE_H = PATCHES_Y * PATCH_HEIGHT, TILE_W = PATCHES_X * PATCH_WIDTH, TILES_X = (OUT_W + TILE_W - 1) / TILE_W;
constexpr bool EVEN_H = OUT_H % TILE_H == 0, EVEN_W = OUT_W % TILE_W == 0, EVEN_M = OUTPUT_MAPS % MAPS == 0;   // no overhang
constexpr int ROWS = TILE_H + K - 1, PITCH = (TILE_W + K + 2) / 4 * 4, PATCHES = PATCHES_X * PATCHES_Y;   // tile, halo
constexpr int THREADS = (PATCHES + 31) / 32 * 32, PADDED = (OUTPUT_MAPS + MAPS - 1) / MAPS * MAPS;
constexpr int widest(int width, int tile) { return width % 4 + tile % 4 == 0 ? 4 : width % 2 + tile % 2 == 0 ? 2 : 1; }
constexpr int VEC = widest(WIDTH, TILE_W), READ = widest(0, PATCH_WIDTH), PARTS = (PATCH_WIDTH + K - 1 + READ - 1) / READ;
template <int n> struct Floats { using type = float; };
template <> struct Floats<2> { using type = float2; }; template <> struct Floats<4> { using type = float4; };
using Load = Floats<VEC>::type; using Read = Floats<READ>::type;
constexpr int STEP = THREADS / (PITCH / VEC), CELLS_H = CHANNELS * ROWS, ROUNDS = (CELLS_H + STEP - 1) / STEP;   // rows at a time
constexpr int BATCH = ROUNDS < 16 ? ROUNDS : 16, POOLED_H = (OUT_H + POOL - 1) / POOL, POOLED_W = (OUT_W + POOL - 1) / POOL;
constexpr int WINDOWS_X = (TILE_W + POOL - 1) / POOL, WINDOWS = (TILE_H + POOL - 1) / POOL * WINDOWS_X;         // of a tile
constexpr int DOWN = POOL < PATCH_HEIGHT ? POOL : PATCH_HEIGHT, ACROSS = POOL < PATCH_WIDTH ? POOL : PATCH_WIDTH;   // in one patch
static_assert(PATCH_HEIGHT % DOWN + POOL % DOWN + PATCH_WIDTH % ACROSS + POOL % ACROSS == 0, "patches and windows do not fit");
__constant__ float filter[CHANNELS * K * K * PADDED];
extern "C" __global__ void __launch_bounds__(THREADS) lenet_conv_pool(float* y, const float* __restrict__ x)
{
    __shared__ __align__(16) float tile[CELLS_H * PITCH];
    __shared__ int most[MAPS * WINDOWS];   // bits of the largest sum of each window
    const int left = blockIdx.x % TILES_X * TILE_W, top = blockIdx.x / TILES_X * TILE_H, map = blockIdx.y * MAPS, t = threadIdx.x;
    const int patch = min(t, PATCHES - 1), column = patch % PATCHES_X * PATCH_WIDTH, row = patch / PATCHES_X * PATCH_HEIGHT;
    const unsigned load_row = t / (PITCH / VEC), load_col = t % (PITCH / VEC) * VEC;
    const float* from = x + ((size_t)blockIdx.z * CHANNELS * HEIGHT + top + load_row) * WIDTH + left + load_col;
    for (int i = t; i < MAPS * WINDOWS; i += THREADS) most[i] = 0;   // the ReLU
    for (unsigned k = 0; k < ROUNDS * STEP && load_row < STEP; k += BATCH * STEP) {   // Load: BATCH rows in flight
        Load held[BATCH];
        #pragma unroll
        for (unsigned i = k; i < k + BATCH * STEP; i += STEP) {
            const unsigned r = load_row + i, c = CHANNELS == 1 ? 0 : r / ROWS;
            const bool inside = r < CELLS_H && (EVEN_H || top + r - c * ROWS < HEIGHT) && left + load_col < WIDTH;
            const int offset = (int(i) + int(c) * (HEIGHT - ROWS)) * WIDTH;   // ROWS may exceed HEIGHT
            held[(i - k) / STEP] = inside ? *reinterpret_cast<const Load*>(from + offset) : Load();
        }
        #pragma unroll
        for (unsigned i = k; i < k + BATCH * STEP; i += STEP)
            if (load_row + i < CELLS_H) *reinterpret_cast<Load*>(tile + (load_row + i) * PITCH + load_col) = held[(i - k) / STEP];
    }
    __syncthreads();   // patches read cells that other threads loaded, and raise what they set to 0
    float sum[MAPS][PATCH_HEIGHT][PATCH_WIDTH] = {};
    for (int c = 0; c < CHANNELS; ++c)
        #pragma unroll unroll
        for (int p = 0; p < K; ++p) {   // Compute: a row of the filter with PATCH_HEIGHT rows of the tile
            const Read* rows = reinterpret_cast<const Read*>(tile + (c * ROWS + row + p) * PITCH + column);
            Read cells[PATCH_HEIGHT][PARTS];
            for (int i = 0; i < PATCH_HEIGHT * PARTS; ++i) cells[i / PARTS][i % PARTS] = rows[i / PARTS * PITCH / READ + i % PARTS];
            #pragma unroll
            for (int i = 0; i < K * MAPS; ++i) {
                const float weight = filter[((c * K + p) * K + i / MAPS) * PADDED + map + i % MAPS];
                for (int h = 0; h < PATCH_HEIGHT; ++h) for (int w = 0; w < PATCH_WIDTH; ++w)
                    sum[i % MAPS][h][w] += reinterpret_cast<const float*>(cells[h])[w + i / MAPS] * weight;
            }
        }
    #pragma unroll
    for (int i = 0; i < MAPS * PATCH_HEIGHT * PATCH_WIDTH; i += DOWN * ACROSS) {   // Pool: the windows, or part, of this patch
        const int part = i / DOWN / ACROSS % ((PATCH_WIDTH / ACROSS) * (PATCH_HEIGHT / DOWN)), m = i / PATCH_WIDTH / PATCH_HEIGHT;
        int largest = 0, h = part / (PATCH_WIDTH / ACROSS) * DOWN, w = part % (PATCH_WIDTH / ACROSS) * ACROSS;
        for (int k = 0; k < DOWN * ACROSS; ++k)   // outputs beyond the edge are none
            if ((EVEN_H || top + row + h + k / ACROSS < OUT_H) && (EVEN_W || left + column + w + k % ACROSS < OUT_W))
                largest = max(largest, __float_as_int(sum[m][h + k / ACROSS][w + k % ACROSS]));
        if (t < PATCHES) atomicMax(most + m * WINDOWS + (row + h) / POOL * WINDOWS_X + (column + w) / POOL, largest);
    }
    __syncthreads();   // a window may have cells of several patches
    for (int i = t; i < MAPS * WINDOWS; i += THREADS) {   // Store
        const int m = map + i / WINDOWS, h = top / POOL + i % WINDOWS / WINDOWS_X, w = left / POOL + i % WINDOWS % WINDOWS_X;
        if ((EVEN_M || m < OUTPUT_MAPS) && h < POOLED_H && w < POOLED_W)
            y[(((size_t)blockIdx.z * OUTPUT_MAPS + m) * POOLED_H + h) * POOLED_W + w] = __int_as_float(most[i]);
    }
}
