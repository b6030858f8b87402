// structures_with_gaps.cu -- all members are set, and structures are copied whole, with the gaps between the members
//
// twin: structure_member_never_set
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform
// result: y = 2 * x[np.arange(128) ^ 63] + 3

struct Sample {
    char weight;
    float value;
    short offset;
};

extern "C" __global__ void structures_with_gaps(float* y, const float* x)
{
    __shared__ Sample tile[64], turned[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    Sample own;
    own.weight = 2;
    own.value = x[i];
    own.offset = 3;
    tile[t] = own;
    __syncthreads();
    turned[t] = tile[63 - t];
    const Sample other = turned[t];
    y[i] = other.weight * other.value + other.offset;
}
