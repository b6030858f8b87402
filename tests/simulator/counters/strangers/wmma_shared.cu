// wmma_shared.cu -- a product by tensor cores from padded tiles in shared memory
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmma_shared(float* C, const half* A, const half* B, int n, int k)
{
    __shared__ half As[16][24], Bs[16][24];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    const int row = blockIdx.y * 16, col = blockIdx.x * 16;
    for (int first = 0; first < k; first += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            As[i / 16][i % 16] = A[(row + i / 16) * k + first + i % 16];
            Bs[i / 16][i % 16] = B[(first + i / 16) * n + col + i % 16];
        }
        __syncwarp();
        wmma::load_matrix_sync(a, &As[0][0], 24);
        wmma::load_matrix_sync(b, &Bs[0][0], 24);
        wmma::mma_sync(c, a, b, c);
        __syncwarp();
    }
    wmma::store_matrix_sync(C + row * n + col, c, n, wmma::mem_row_major);
}
