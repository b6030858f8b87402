// %%kernel small_product
#include <mma.h>
using namespace nvcuda;
__global__ void small_product(float* y, const __half* a, const __half* x)
{
    constexpr int TERMS = 49, DEPTH = 64, PITCH = 72;                 // whole steps; 16 bytes of skew
    __shared__ __align__(32) __half left[16 * PITCH], right[16 * PITCH];
    for (int i = threadIdx.x; i < 16 * PITCH; i += 32) left[i] = right[i] = __float2half(0.0f);
    __syncwarp();
    for (int i = threadIdx.x; i < 16 * TERMS; i += 32) {
        left[i / TERMS * PITCH + i % TERMS] = a[i];
        right[i % 16 * PITCH + i / 16] = x[i];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> f;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> g;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < DEPTH; k += 16) {
        wmma::load_matrix_sync(f, left + k, PITCH);
        wmma::load_matrix_sync(g, right + k, PITCH);
        wmma::mma_sync(sum, f, g, sum);
    }
    wmma::store_matrix_sync(y, sum, 16, wmma::mem_row_major);
}
