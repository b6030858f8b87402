// wmma_of_bytes.cu -- products of bytes by the warp matrix functions, tile after tile
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmma_of_bytes(int* C, const signed char* A, const signed char* B,
    int N, int K)
{
    __shared__ __align__(32) int staged[256];
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> c;
    wmma::fill_fragment(c, 0);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k * 16, 16);
        wmma::load_matrix_sync(b, B + column * K + k * 16, 16);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(staged, c, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) C[(row + i / 16) * N + column + i % 16] =
        max(staged[i], 0);
}
