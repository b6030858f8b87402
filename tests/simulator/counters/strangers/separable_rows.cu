// separable_rows.cu -- a filter along rows, two halos in shared memory, weights in constant memory
#define R 2
__constant__ float weight[2 * R + 1];
extern "C" __global__ void separable_rows(float* out, const float* in, int width)
{
    __shared__ float cells[64 + 2 * R];
    const int t = threadIdx.x, x = blockIdx.x * 64 + t;
    const float* row = in + blockIdx.y * width;
    cells[t + R] = x < width ? row[x] : 0;
    if (t < R) {
        cells[t] = x >= R ? row[x - R] : 0;
        cells[t + 64 + R] = x + 64 < width ? row[x + 64] : 0;
    }
    __syncthreads();
    if (x < width) {
        float sum = 0;
        for (int k = -R; k <= R; ++k) sum += weight[k + R] * cells[t + R + k];
        out[blockIdx.y * width + x] = sum;
    }
}
