// fragment_rows_too_far_apart.cu -- WRONG ON PURPOSE: A has 48 columns, and its fragments are loaded as if it had 64
//
// fault: out-of-bounds
// array: A
// launch: grid=4x2 block=32
// arguments: out float C 32x64; in half A 32x48 small; in half B 48x64 small

#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void fragment_rows_too_far_apart(float* C, const __half* A, const __half* B)
{
    const int inner = 48, columns = 64;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < inner; k += 16) {
        wmma::load_matrix_sync(a, A + blockIdx.y * 16 * inner + k, columns); // <- here
        wmma::load_matrix_sync(b, B + k * columns + blockIdx.x * 16, columns);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(C + blockIdx.y * 16 * columns + blockIdx.x * 16, sum, columns,
                            wmma::mem_row_major);
}
