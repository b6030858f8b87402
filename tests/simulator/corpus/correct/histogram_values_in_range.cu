// histogram_values_in_range.cu -- values are clamped to the last bin
//
// twin: histogram_value_past_last_bin
// launch: grid=4 block=256
// arguments: inout int bins 256 zeros; in int values 1000 below=300; int n=1000
// result: bins = np.bincount(np.minimum(values, 255), minlength=256)

extern "C" __global__ void histogram_values_in_range(int* bins, const int* values, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[min(values[i], 255)], 1);
    }
}
