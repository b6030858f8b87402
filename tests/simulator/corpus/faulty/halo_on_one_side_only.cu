// halo_on_one_side_only.cu -- WRONG ON PURPOSE: the tile has room for one halo, the loads fill two
//
// fault: out-of-bounds
// array: tile
// launch: grid=4 block=64
// arguments: out float P 250; in float N 250 uniform; in float filter 5 uniform; int n=250

#define R 2
#define WIDTH 64
#define CELLS (WIDTH + R)

extern "C" __global__ void halo_on_one_side_only(float* P, const float* N, const float* filter, int n)
{
    __shared__ float tile[CELLS];
    const int start = blockIdx.x * WIDTH - R;
    for (int k = threadIdx.x; k < WIDTH + 2 * R; k += blockDim.x) {
        const int i = start + k;
        tile[k] = i >= 0 && i < n ? N[i] : 0.0f; // <- here
    }
    __syncthreads();
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < 2 * R + 1; ++j) {
            sum += tile[threadIdx.x + j] * filter[j];
        }
        P[i] = sum;
    }
}
