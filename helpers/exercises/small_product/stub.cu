// %%kernel small_product
#include <mma.h>
using namespace nvcuda;
__global__ void small_product(float* y, const __half* a, const __half* x)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);

    // Copy a (16 rows of 49 halves) and the columns of x (49 rows of 16) to shared memory, with
    // zeros behind the 49th term. Then multiply them, 16 terms at a time.

    wmma::store_matrix_sync(y, sum, 16, wmma::mem_row_major);
}
