// whole_array_by_first_row.cu -- a pointer to the first row of a shared array goes through all rows
//
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform
// result: y = x.reshape(2, 4, 16).transpose(0, 2, 1).ravel()

extern "C" __global__ void whole_array_by_first_row(float* y, const float* x)
{
    __shared__ float rows[4][16];
    float* all = rows[0];
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    all[t] = x[i];
    __syncthreads();
    y[i] = rows[t % 4][t / 4];
}
