// conv2d_register_tiled.cu -- convolution layer: each thread a patch of outputs in registers, fed from a shared tile
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[c,p,q,m], valid, not flipped (the filter's maps innermost)
// Idea       A cell taken from the tile meets MAPS x PATCH_HEIGHT weights, a weight PATCH_WIDTH x PATCH_HEIGHT cells: many
//            multiply-adds per load. The compiler knows all sizes: offsets are constants, and weights are operands.
// Arrays     x: float32, (B, C, H, W); y: float32, (B, M, H - K + 1, W - K + 1); aligned to 16 bytes; must not alias.
// Launch     block = THREADS: its patches, rounded up to warps; grid = (tiles of a map, ceil(M / MAPS), ceil(B / IMAGES))
// Sizes      any B; K <= 15. STAGED divides C; IMAGES > 1 only where STAGED = C. THREADS >= PITCH / VEC.
// Memory     shared: IMAGES * STAGED * ROWS * PITCH * 4 bytes, static. constant: C * K * K * PADDED * 4 bytes, at most 65,536.
// Constants  CHANNELS = C, OUTPUT_MAPS = M, HEIGHT, WIDTH, FILTER_WIDTH = K; MAPS, PATCH_WIDTH, PATCH_HEIGHT (of a thread);
//            PATCHES_X, PATCHES_Y, IMAGES (of a block); STAGED (channels at a time), UNROLL (filter rows). helpers.layer gives all.
// Reference  helpers.reference.conv2d
constexpr int K = FILTER_WIDTH, OUT_H = HEIGHT - K + 1, OUT_W = WIDTH - K + 1, unroll = UNROLL;
constexpr int TILE_H = PATCHES_Y * PATCH_HEIGHT, TILE_W = PATCHES_X * PATCH_WIDTH, TILES_X = (OUT_W + TILE_W - 1) / TILE_W;
constexpr bool EVEN_H = OUT_H % TILE_H == 0, EVEN_W = OUT_W % TILE_W == 0, EVEN_M = OUTPUT_MAPS % MAPS == 0;   // no overhang
constexpr int ROWS = TILE_H + K - 1, PITCH = (TILE_W + K + 2) / 4 * 4;      // of the tile with its halo, in whole vectors
constexpr int PATCHES = PATCHES_X * PATCHES_Y * IMAGES, THREADS = (PATCHES + 31) / 32 * 32;
constexpr int widest(int width, int tile) { return width % 4 + tile % 4 == 0 ? 4 : width % 2 + tile % 2 == 0 ? 2 : 1; }
constexpr int VEC = widest(WIDTH, TILE_W), READ = widest(0, PATCH_WIDTH), WRITE = widest(OUT_W, PATCH_WIDTH);   // of an access
template <int n> struct Floats { using type = float; };
template <> struct Floats<2> { using type = float2; }; template <> struct Floats<4> { using type = float4; };
using Load = Floats<VEC>::type; using Read = Floats<READ>::type; using Write = Floats<WRITE>::type;
constexpr int PARTS = (PATCH_WIDTH + K - 1 + READ - 1) / READ, PADDED = (OUTPUT_MAPS + MAPS - 1) / MAPS * MAPS;   // whole ones
constexpr int PLANES = IMAGES * STAGED, STEP = THREADS / (PITCH / VEC);  // STEP: rows that the block loads at a time
constexpr int ROUNDS = (PLANES * ROWS + STEP - 1) / STEP, BATCH = ROUNDS < 16 ? ROUNDS : 16;
__constant__ float filter[CHANNELS * K * K * PADDED];
extern "C" __global__ void __launch_bounds__(THREADS) conv2d_register_tiled(float* y, const float* __restrict__ x, int B)
{
    __shared__ __align__(16) float tile[PLANES * ROWS * PITCH];
    const int left = blockIdx.x % TILES_X * TILE_W, top = TILE_H < OUT_H ? blockIdx.x / TILES_X * TILE_H : 0;
    const int t = threadIdx.x, first = blockIdx.z * IMAGES, map = blockIdx.y * MAPS;   // the block's first image and map
    const int patch = min(t, PATCHES - 1), image = patch / (PATCHES_X * PATCHES_Y);   // idle threads repeat the last patch
    const int column = patch % PATCHES_X * PATCH_WIDTH, row = patch / PATCHES_X % PATCHES_Y * PATCH_HEIGHT;
    const unsigned load_row = t / (PITCH / VEC), load_column = t % (PITCH / VEC) * VEC;
    const bool column_there = left + load_column < WIDTH;
    const float* from = x + ((size_t)first * CHANNELS * HEIGHT + top + load_row) * WIDTH + left + load_column;
    __align__(16) float sum[MAPS][PATCH_HEIGHT][PATCH_WIDTH] = {};
    for (int c = 0; c < CHANNELS; c += STAGED) {
        if (c > 0) __syncthreads();   // not before all have read the channels that are now overwritten
        for (unsigned k = 0; k < ROUNDS * STEP && load_row < STEP; k += BATCH * STEP) {   // Load: BATCH rows in flight
            Load mine[BATCH];
            #pragma unroll
            for (unsigned i = k; i < k + BATCH * STEP; i += STEP) {
                const unsigned r = load_row + i, plane = PLANES == 1 ? 0 : r / ROWS, h = top + r - plane * ROWS;
                const bool image_there = IMAGES == 1 || first + plane / CHANNELS < B, row_there = EVEN_H || h < HEIGHT;
                const bool inside = (i + STEP <= PLANES * ROWS || r < PLANES * ROWS) && image_there && row_there && column_there;
                const int offset = (c * HEIGHT + int(i) + int(plane) * (HEIGHT - ROWS)) * WIDTH;   // ROWS may exceed HEIGHT
                mine[(i - k) / STEP] = inside ? *reinterpret_cast<const Load*>(from + offset) : Load();
            }
            #pragma unroll
            for (unsigned i = k; i < k + BATCH * STEP; i += STEP)
                if (i + STEP <= PLANES * ROWS || load_row + i < PLANES * ROWS)
                    *reinterpret_cast<Load*>(tile + (load_row + i) * PITCH + load_column) = mine[(i - k) / STEP];
        }
        __syncthreads();   // patches read cells that other threads loaded
        for (int s = 0; s < STAGED; ++s) {   // Compute: a row of the filter with PATCH_HEIGHT rows of the tile
            #pragma unroll unroll
            for (int p = 0; p < K; ++p) {
                Read cells[PATCH_HEIGHT][PARTS];
                for (int i = 0; i < PATCH_HEIGHT * PARTS; ++i) {
                    const float* from = tile + ((image * STAGED + s) * ROWS + row + i / PARTS + p) * PITCH + column;
                    cells[i / PARTS][i % PARTS] = reinterpret_cast<const Read*>(from)[i % PARTS];
                }
                #pragma unroll
                for (int i = 0; i < K * MAPS; ++i) {
                    const int q = i / MAPS, m = i % MAPS;
                    const float weight = filter[(((c + s) * K + p) * K + q) * PADDED + map + m];
                    for (int o = 0; o < PATCH_HEIGHT; ++o)
                        for (int w = 0; w < PATCH_WIDTH; ++w) sum[m][o][w] += weight * reinterpret_cast<float*>(cells[o])[w + q];
                }
            }
        }
    }
    float* to = y + (((size_t)(first + image) * OUTPUT_MAPS + map) * OUT_H + top + row) * OUT_W + left + column;
    for (int i = 0; i < MAPS * PATCH_HEIGHT * PATCH_WIDTH && t < PATCHES && first + image < B; i += WRITE) {   // Store
        const int m = i / PATCH_WIDTH / PATCH_HEIGHT, h = i / PATCH_WIDTH % PATCH_HEIGHT, w = i % PATCH_WIDTH;
        if ((EVEN_H || top + row + h < OUT_H) && (EVEN_W || left + column + w < OUT_W) && (EVEN_M || map + m < OUTPUT_MAPS))
            *reinterpret_cast<Write*>(to + (m * OUT_H + h) * OUT_W + w) = *reinterpret_cast<Write*>(&sum[m][h][w]);
    }
}
