// halo_never_set.cu -- WRONG ON PURPOSE: nobody stores the halo of the first and the last block, and the sum reads it
//
// fault: uninitialised
// array: tile
// launch: grid=4 block=64
// arguments: out float P 256; in float N 256 uniform; in float filter 3 uniform; int n=256

#define R 1

extern "C" __global__ void halo_never_set(float* P, const float* N, const float* filter, int n)
{
    __shared__ float tile[64 + 2 * R];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[R + t] = N[i];
    if (t == 0 && i >= R) {
        tile[0] = N[i - R];
    }
    if (t == 63 && i + R < n) {
        tile[64 + R] = N[i + R];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int j = 0; j < 2 * R + 1; ++j) {
        sum += tile[t + j] * filter[j]; // <- here
    }
    P[i] = sum;
}
