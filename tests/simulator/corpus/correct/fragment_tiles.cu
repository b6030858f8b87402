// fragment_tiles.cu -- 16x16x16 fragments over matrices whose sides are multiples of 16
//
// twin: fragment_past_matrix
// launch: grid=2x1 block=32
// arguments: out float C 16x32; in half A 16x48 integers; in half B 48x32 integers; int inner=48
// result: C = A.astype(np.float64) @ B.astype(np.float64)

#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void fragment_tiles(float* C, const __half* A, const __half* B, int inner)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    const int col = blockIdx.x * 16;
    for (int start = 0; start < inner; start += 16) {
        wmma::load_matrix_sync(a, A + start, inner);
        wmma::load_matrix_sync(b, B + start * 32 + col, 32);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(C + col, sum, 32, wmma::mem_row_major);
}
