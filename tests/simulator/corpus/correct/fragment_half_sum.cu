// fragment_half_sum.cu -- one 16x16x16 fragment product, summed in half
//
// launch: grid=1 block=32
// arguments: out half C 16x16; in half A 16x16 small; in half B 16x16 small
// result: C = A.astype(np.float64) @ B.T.astype(np.float64)

#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void fragment_half_sum(__half* C, const __half* A, const __half* B)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> sum;
    wmma::fill_fragment(sum, __float2half(0.0f));
    wmma::load_matrix_sync(a, A, 16);
    wmma::load_matrix_sync(b, B, 16);
    wmma::mma_sync(sum, a, b, sum);
    wmma::store_matrix_sync(C, sum, 16, wmma::mem_row_major);
}
