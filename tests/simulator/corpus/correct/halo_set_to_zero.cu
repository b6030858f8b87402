// halo_set_to_zero.cu -- halo cells outside the array are set to zero
//
// twin: halo_never_set
// launch: grid=4 block=64
// arguments: out float P 256; in float N 256 uniform; in float filter 3 uniform; int n=256
// result: P = conv1d(N, filter)
// compare: within 1e-5

#define R 1

extern "C" __global__ void halo_set_to_zero(float* P, const float* N, const float* filter, int n)
{
    __shared__ float tile[64 + 2 * R];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[R + t] = N[i];
    if (t == 0) {
        tile[0] = i >= R ? N[i - R] : 0.0f;
    }
    if (t == 63) {
        tile[64 + R] = i + R < n ? N[i + R] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int j = 0; j < 2 * R + 1; ++j) {
        sum += tile[t + j] * filter[j];
    }
    P[i] = sum;
}
