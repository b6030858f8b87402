// volume_depth_guard_missing.cu -- WRONG ON PURPOSE: x and y are guarded, z is not
//
// fault: out-of-bounds
// array: v
// launch: grid=2x2x2 block=8x4x4
// arguments: out float u 6x7x11; in float v 6x7x11 uniform; int depth=6; int height=7; int width=11

extern "C" __global__ void volume_depth_guard_missing(float* u, const float* v, int depth, int height, int width)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < width && y < height) {
        const int i = (z * height + y) * width + x;
        u[i] = 3.0f * v[i]; // <- here
    }
}
