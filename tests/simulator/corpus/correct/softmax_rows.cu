// softmax_rows.cu -- softmax of rows, one block a row: a maximum, a sum and a quotient through shared memory
//
// launch: grid=3 block=32
// arguments: out float y 3x50; in float x 3x50 uniform; int width=50
// result: y = np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
// compare: within 1e-5

extern "C" __global__ void softmax_rows(float* y, const float* x, int width)
{
    __shared__ float part[32];
    const int t = threadIdx.x;
    const float* row = x + blockIdx.x * width;
    float most = -INFINITY, sum = 0.0f;
    for (int k = t; k < width; k += 32) {
        most = fmaxf(most, row[k]);
    }
    part[t] = most;
    __syncthreads();
    for (int k = 0; k < 32; ++k) {
        most = fmaxf(most, part[k]);
    }
    __syncthreads();
    for (int k = t; k < width; k += 32) {
        sum += expf(row[k] - most);
    }
    part[t] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < 32; ++k) {
        sum += part[k];
    }
    for (int k = t; k < width; k += 32) {
        y[blockIdx.x * width + k] = expf(row[k] - most) / sum;
    }
}
