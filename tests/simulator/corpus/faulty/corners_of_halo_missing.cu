// corners_of_halo_missing.cu -- WRONG ON PURPOSE: the four edges of the 2D halo are loaded, its corners are not
//
// fault: uninitialised
// array: tile
// launch: grid=2x2 block=8x8
// arguments: out float y 16x16; in float x 18x18 uniform; in float filter 3x3 uniform

#define T 8

extern "C" __global__ void corners_of_halo_missing(float* y, const float* x, const float* filter)
{
    __shared__ float tile[T + 2][T + 2];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int top = blockIdx.y * T, left = blockIdx.x * T;
    tile[ty + 1][tx + 1] = x[(top + ty + 1) * 18 + left + tx + 1];
    if (ty == 0) tile[0][tx + 1] = x[top * 18 + left + tx + 1];
    if (ty == T - 1) tile[T + 1][tx + 1] = x[(top + T + 1) * 18 + left + tx + 1];
    if (tx == 0) tile[ty + 1][0] = x[(top + ty + 1) * 18 + left];
    if (tx == T - 1) tile[ty + 1][T + 1] = x[(top + ty + 1) * 18 + left + T + 1];
    __syncthreads();
    float sum = 0.0f;
    for (int p = 0; p < 3; ++p) {
        for (int q = 0; q < 3; ++q) {
            sum += tile[ty + p][tx + q] * filter[p * 3 + q]; // <- here
        }
    }
    y[(top + ty) * 16 + left + tx] = sum;
}
