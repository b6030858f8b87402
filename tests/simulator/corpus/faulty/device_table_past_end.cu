// device_table_past_end.cu -- WRONG ON PURPOSE: a table of 16 in device memory takes the index 16
//
// fault: out-of-bounds
// array: table
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform; constant float table 16 integers

#define ENTRIES 16

__device__ float table[ENTRIES];

extern "C" __global__ void device_table_past_end(float* y, const float* x)
{
    const int t = threadIdx.x;
    y[t] = x[t] * table[(t + 1) / 2]; // <- here
}
