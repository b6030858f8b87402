// histogram_global.cu -- one atomic in global memory a cell
extern "C" __global__ void histogram_global(unsigned* bins, const unsigned char* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i]], 1u);
}
