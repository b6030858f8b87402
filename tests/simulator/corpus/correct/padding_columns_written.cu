// padding_columns_written.cu -- rows padded from 30 to 32 columns, the padding with zeros
//
// twin: padding_columns_never_written
// launch: grid=4 block=32
// arguments: out float y 4; scratch float padded 4x32; in float x 4x30 integers
// result: y = x.sum(axis=1)

extern "C" __global__ void padding_columns_written(float* y, float* padded, const float* x)
{
    const int t = threadIdx.x;
    float* row = padded + blockIdx.x * 32;
    row[t] = t < 30 ? x[blockIdx.x * 30 + t] : 0.0f;
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 8; ++k) {
            const float4 v = reinterpret_cast<const float4*>(row)[k];
            sum += v.x + v.y + v.z + v.w;
        }
        y[blockIdx.x] = sum;
    }
}
