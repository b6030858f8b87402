// padding_columns_never_written.cu -- WRONG ON PURPOSE: rows padded from 30 to 32 columns: the padding is read and was never
//     written
//
// fault: uninitialised
// array: padded
// launch: grid=4 block=32
// arguments: out float y 4; scratch float padded 4x32; in float x 4x30 integers

extern "C" __global__ void padding_columns_never_written(float* y, float* padded, const float* x)
{
    const int t = threadIdx.x;
    float* row = padded + blockIdx.x * 32;
    if (t < 30) row[t] = x[blockIdx.x * 30 + t];
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 8; ++k) {
            const float4 v = reinterpret_cast<const float4*>(row)[k]; // <- here
            sum += v.x + v.y + v.z + v.w;
        }
        y[blockIdx.x] = sum;
    }
}
