// scatter.cu -- each lane writes the cell that an index names
extern "C" __global__ void scatter(float* out, const float* in, const int* index, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[index[i]] = in[i];
}
