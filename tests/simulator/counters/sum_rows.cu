// sum_rows.cu -- one thread a row: neighbouring lanes are a row apart
extern "C" __global__ void sum_rows(float* out, const float* in, int height, int width)
{
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height) return;
    float sum = 0.0f;
    for (int x = 0; x < width; ++x) sum += in[y * width + x];
    out[y] = sum;
}
