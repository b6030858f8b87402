// scratch_row_never_written.cu -- WRONG ON PURPOSE: a block leaves its scratch row out when its first value is negative, and
//     sums it all the same
//
// fault: uninitialised
// array: scratch
// launch: grid=4 block=64
// arguments: out float y 4; scratch float scratch 4x64; in float x 4x64 integers

extern "C" __global__ void scratch_row_never_written(float* y, float* scratch, const float* x)
{
    const int t = threadIdx.x;
    float* row = scratch + blockIdx.x * 64;
    if (x[blockIdx.x * 64 + t] > 0.0f)
        row[t] = x[blockIdx.x * 64 + t] * x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; ++k) {
            sum += row[k]; // <- here
        }
        y[blockIdx.x] = sum;
    }
}
