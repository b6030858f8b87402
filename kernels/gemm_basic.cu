// gemm_basic.cu -- product of matrices, one thread per output
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s]
// Idea       Neighbouring lanes compute neighbouring columns: a warp loads one cell of A for all
//            lanes and 32 neighbouring cells of X. Nothing is kept: each multiply-add needs two
//            loads.
// Arrays     A: float32, (rows, inner). X: float32, (inner, cols). Y: float32, (rows, cols). No two
//            may alias.
// Launch     block = (32, 8, 1); grid = (ceil(cols / 32), ceil(rows / 8), 1)
// Sizes      any cols, inner >= 1; rows <= 65,535 * 8; each matrix < 2^31 cells
// Memory     none beside the matrices
// Constants  none
// Reference  numpy: A @ X

extern "C" __global__ void gemm_basic(
    float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && col < cols) {
        float sum = 0.0f;
        for (int i = 0; i < inner; ++i) {
            sum += A[row * inner + i] * X[i * cols + col];
        }
        Y[row * cols + col] = sum;
    }
}
