// tile_loaded_behind_guard.cu -- block = output tile, the halo read from global memory (course report D's second way to tile)
//
// twin: tile_loaded_before_guard
// launch: grid=16 block=64
// arguments: out float P 1000; in float N 1000 uniform; in float filter 3 uniform; int n=1000
// result: P = conv1d(N, filter)
// compare: within 1e-5

#define WIDTH 64

extern "C" __global__ void tile_loaded_behind_guard(float* P, const float* N, const float* filter, int n)
{
    __shared__ float tile[WIDTH];
    const int t = threadIdx.x;
    const int i = blockIdx.x * WIDTH + t;
    tile[t] = i < n ? N[i] : 0.0f;
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int j = -1; j <= 1; ++j) {
            const bool in_tile = t + j >= 0 && t + j < WIDTH;
            const bool in_array = i + j >= 0 && i + j < n;
            const float cell = in_tile ? tile[t + j] : in_array ? N[i + j] : 0.0f;
            sum += cell * filter[j + 1];
        }
        P[i] = sum;
    }
}
