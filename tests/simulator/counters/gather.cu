// gather.cu -- each lane reads the cell that an index names
extern "C" __global__ void gather(float* out, const float* in, const int* index, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]];
}
