// %%kernel small_product
#include <mma.h>
using namespace nvcuda;
__global__ void small_product(float* y, const __half* a, const __half* x)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);

    //> Copy a (16 rows of 49 halves) and the columns of x (49 rows of 16) to shared memory, with
    //> zeros behind the 49th term. Then multiply them, 16 terms at a time.
    constexpr int TERMS = 49, DEPTH = 64, PITCH = 72;                 // whole steps; 16 bytes of skew
    __shared__ __align__(32) __half left[16 * PITCH], right[16 * PITCH];
    for (int i = threadIdx.x; i < 16 * DEPTH; i += 32) {
        const int row = i / DEPTH, term = i % DEPTH;
        left[row * PITCH + term] = term < TERMS ? a[row * TERMS + term] : __half(0.0f);
        right[row * PITCH + term] = term < TERMS ? x[term * 16 + row] : __half(0.0f);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> f;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> g;
    for (int k = 0; k < DEPTH; k += 16) {
        wmma::load_matrix_sync(f, left + k, PITCH);
        wmma::load_matrix_sync(g, right + k, PITCH);
        wmma::mma_sync(sum, f, g, sum);
    }
    //<

    wmma::store_matrix_sync(y, sum, 16, wmma::mem_row_major);
}
