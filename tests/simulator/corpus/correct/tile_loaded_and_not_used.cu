// tile_loaded_and_not_used.cu -- a tile is loaded, and the sum reads global memory all the same (course report B): slow, not
//     wrong
//
// launch: grid=4 block=64
// arguments: out float P 250; in float N 250 uniform; in float filter 3 uniform; int n=250
// result: P = conv1d(N, filter)
// compare: within 1e-5

extern "C" __global__ void tile_loaded_and_not_used(float* P, const float* N, const float* filter, int n)
{
    __shared__ float tile[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = i < n ? N[i] : 0.0f;
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int j = -1; j <= 1; ++j) {
            if (i + j >= 0 && i + j < n) {
                sum += N[i + j] * filter[j + 1];
            }
        }
        P[i] = sum;
    }
}
