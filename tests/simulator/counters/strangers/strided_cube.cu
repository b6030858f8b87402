// strided_cube.cu -- strided loops the wrong way round: columns by threads in y, blocks of odd
// shape, long indices
extern "C" __global__ void strided_cube(double* out, const float* in, long rows, long cols, long ld)
{
    long r = (long)blockIdx.x * blockDim.x + threadIdx.x;
    long c = (long)blockIdx.y * blockDim.y + threadIdx.y;
    long depth = blockIdx.z * blockDim.z + threadIdx.z;
    if (r >= rows || c >= cols) return;
    out[depth * rows * cols + r * cols + c] = (double)in[r * ld + c] / (1.0 + depth);
}
