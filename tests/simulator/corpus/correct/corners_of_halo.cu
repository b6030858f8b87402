// corners_of_halo.cu -- a 2D tile whose halo is loaded in a loop, corners included
//
// twin: corners_of_halo_missing
// launch: grid=2x2 block=8x8
// arguments: out float y 16x16; in float x 18x18 uniform; in float filter 3x3 uniform
// result: y = conv2d(x, filter)
// compare: within 1e-5

#define T 8

extern "C" __global__ void corners_of_halo(float* y, const float* x, const float* filter)
{
    __shared__ float tile[T + 2][T + 2];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int top = blockIdx.y * T, left = blockIdx.x * T;
    for (int r = ty; r < T + 2; r += T) {
        for (int c = tx; c < T + 2; c += T) {
            tile[r][c] = x[(top + r) * 18 + left + c];
        }
    }
    __syncthreads();
    float sum = 0.0f;
    for (int p = 0; p < 3; ++p) {
        for (int q = 0; q < 3; ++q) {
            sum += tile[ty + p][tx + q] * filter[p * 3 + q];
        }
    }
    y[(top + ty) * 16 + left + tx] = sum;
}
