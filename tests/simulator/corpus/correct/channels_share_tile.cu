// channels_share_tile.cu -- one tile for all input channels, with a barrier before it is filled again
//
// twin: next_channel_overwrites_tile
// launch: grid=2x2 block=8x8
// arguments: out float y 12x12; in float x 3x14x14 integers; in float filter 3x3x3 integers; int channels=3; int size=14
// result: y = sum(conv2d(x[c], filter[c]) for c in range(3))

#define K 3
#define T 8

extern "C" __global__ void channels_share_tile(float* y, const float* x, const float* filter, int channels, int size)
{
    __shared__ float tile[T + K - 1][T + K - 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int top = blockIdx.y * T, left = blockIdx.x * T, out_size = size - K + 1;
    float sum = 0.0f;
    for (int c = 0; c < channels; ++c) {
        for (int r = ty; r < T + K - 1; r += T) {
            for (int s = tx; s < T + K - 1; s += T) {
                const bool inside = top + r < size && left + s < size;
                tile[r][s] = inside ? x[(c * size + top + r) * size + left + s] : 0.0f;
            }
        }
        __syncthreads();
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                sum += tile[ty + p][tx + q] * filter[(c * K + p) * K + q];
            }
        }
        __syncthreads();
    }
    if (top + ty < out_size && left + tx < out_size) {
        y[(top + ty) * out_size + left + tx] = sum;
    }
}
