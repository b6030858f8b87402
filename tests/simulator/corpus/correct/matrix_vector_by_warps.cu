// matrix_vector_by_warps.cu -- a warp a row, loads in strides of 32, the sum by shuffles
//
// launch: grid=2 block=128
// arguments: out float y 7; in float A 7x70 integers; in float x 70 integers; int rows=7; int cols=70
// result: y = A @ x

extern "C" __global__ void matrix_vector_by_warps(float* y, const float* A, const float* x, int rows, int cols)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row < rows) { // the same for all lanes of a warp
        float sum = 0.0f;
        for (int k = lane; k < cols; k += 32) {
            sum += A[row * cols + k] * x[k];
        }
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, step);
        }
        if (lane == 0) {
            y[row] = sum;
        }
    }
}
