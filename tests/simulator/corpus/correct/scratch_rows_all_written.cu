// scratch_rows_all_written.cu -- a scratch row for each block, written and then summed by that block
//
// twin: scratch_row_never_written
// launch: grid=4 block=64
// arguments: out float y 4; scratch float scratch 4x64; in float x 4x64 integers
// result: y = np.square(x).sum(axis=1)

extern "C" __global__ void scratch_rows_all_written(float* y, float* scratch, const float* x)
{
    const int t = threadIdx.x;
    float* row = scratch + blockIdx.x * 64;
        row[t] = x[blockIdx.x * 64 + t] * x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; ++k) {
            sum += row[k];
        }
        y[blockIdx.x] = sum;
    }
}
