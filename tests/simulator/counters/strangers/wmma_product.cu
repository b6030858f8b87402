// wmma_product.cu -- a product by fragments
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmma_product(const half *a, const half *b, float *c, int m, int n, int k)
{
    int tn = blockIdx.x, tm = blockIdx.y;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + tm * 16 * k + i, k);
        wmma::load_matrix_sync(fb, b + i * n + tn * 16, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + tm * 16 * n + tn * 16, fc, n, wmma::mem_row_major);
}
