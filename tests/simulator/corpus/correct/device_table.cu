// device_table.cu -- a table of 17 in device memory
//
// twin: device_table_past_end
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform; constant float table 17 integers
// result: y = x * table[(np.arange(32) + 1) // 2]

#define ENTRIES 17

__device__ float table[ENTRIES];

extern "C" __global__ void device_table(float* y, const float* x)
{
    const int t = threadIdx.x;
    y[t] = x[t] * table[(t + 1) / 2];
}
