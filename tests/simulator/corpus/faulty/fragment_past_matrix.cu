// fragment_past_matrix.cu -- WRONG ON PURPOSE: the last 16x16 fragment of a matrix of 40 columns reaches past its end
//
// fault: out-of-bounds
// launch: grid=2x1 block=32
// arguments: out float C 16x32; in half A 16x40 integers; in half B 40x32 integers; int inner=40

#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void fragment_past_matrix(float* C, const __half* A, const __half* B, int inner)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    const int col = blockIdx.x * 16;
    for (int start = 0; start < inner; start += 16) {
        wmma::load_matrix_sync(a, A + start, inner); // <- here
        wmma::load_matrix_sync(b, B + start * 32 + col, 32); // <- here
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(C + col, sum, 32, wmma::mem_row_major);
}
