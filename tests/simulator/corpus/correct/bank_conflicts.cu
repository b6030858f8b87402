// bank_conflicts.cu -- a column of a 32x32 tile lies in one bank: 32 wavefronts, and right
//
// launch: grid=1 block=32x32
// arguments: out float y 32x32; in float x 32x32 uniform
// result: y = x.T

extern "C" __global__ void bank_conflicts(float* y, const float* x)
{
    __shared__ float tile[32][32];
    const int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[ty * 32 + tx];
    __syncthreads();
    y[ty * 32 + tx] = tile[tx][ty];
}
