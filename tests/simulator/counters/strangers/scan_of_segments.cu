// scan_of_segments.cu -- Kogge and Stone's scan that starts anew at each flag
extern "C" __global__ void scan_of_segments(int* out, const int* in, const unsigned char* heads,
    int n)
{
    extern __shared__ int memory[];
    int* values = memory;
    unsigned char* flags = reinterpret_cast<unsigned char*>(memory + blockDim.x);
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    values[t] = i < n ? in[i] : 0;
    flags[t] = i < n ? heads[i] : 1;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d <<= 1) {
        int v = values[t];
        unsigned char f = flags[t];
        if (t >= d && !f) {
            v += values[t - d];
            f = flags[t - d];
        }
        __syncthreads();
        values[t] = v;
        flags[t] = f;
        __syncthreads();
    }
    if (i < n) out[i] = values[t];
}
