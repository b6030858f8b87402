// transpose_in_registers.cu -- each thread turns 4 x 4 cells in its registers
extern "C" __global__ void transpose_in_registers(float4* out, const float4* in, int width4,
    int height4)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width4 || y >= height4) return;
    float4 a = in[(4 * y + 0) * width4 + x], b = in[(4 * y + 1) * width4 + x];
    float4 c = in[(4 * y + 2) * width4 + x], d = in[(4 * y + 3) * width4 + x];
    out[(4 * x + 0) * height4 + y] = make_float4(a.x, b.x, c.x, d.x);
    out[(4 * x + 1) * height4 + y] = make_float4(a.y, b.y, c.y, d.y);
    out[(4 * x + 2) * height4 + y] = make_float4(a.z, b.z, c.z, d.z);
    out[(4 * x + 3) * height4 + y] = make_float4(a.w, b.w, c.w, d.w);
}
