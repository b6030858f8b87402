// wmma_tiles.cu -- a product of halves on tensor cores, a warp for each tile of 16 x 16, ReLU on
// the fragment
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void wmma_tiles(float* c, const half* a, const half* b, int m, int n, int k)
{
    int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    int warpN = blockIdx.y * blockDim.y + threadIdx.y;
    if (warpM * 16 >= m || warpN * 16 >= n) return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + warpM * 16 * k + i, k);
        wmma::load_matrix_sync(fb, b + warpN * 16 * k + i, k);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    for (int t = 0; t < acc.num_elements; t++) acc.x[t] = acc.x[t] > 0.f ? acc.x[t] : 0.f;
    wmma::store_matrix_sync(c + warpM * 16 * n + warpN * 16, acc, n, wmma::mem_row_major);
}
