// block_is_input_tile.cu -- block = input tile, the threads of the halo idle in the compute phase (course report D's third
//     way to tile)
//
// launch: grid=5 block=64
// arguments: out float P 250; in float N 250 uniform; in float filter 5 uniform; int n=250
// result: P = conv1d(N, filter)
// compare: within 1e-5

#define R 2

extern "C" __global__ void block_is_input_tile(float* P, const float* N, const float* filter, int n)
{
    __shared__ float tile[64];
    const int t = threadIdx.x, outputs = blockDim.x - 2 * R;
    const int i = blockIdx.x * outputs + t - R;
    tile[t] = i >= 0 && i < n ? N[i] : 0.0f;
    __syncthreads();
    if (t >= R && t < R + outputs && i < n) {
        float sum = 0.0f;
        for (int j = -R; j <= R; ++j) {
            sum += tile[t + j] * filter[j + R];
        }
        P[i] = sum;
    }
}
