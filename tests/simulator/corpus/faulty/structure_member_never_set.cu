// structure_member_never_set.cu -- WRONG ON PURPOSE: a structure is copied whole before one of its members is set
//
// fault: uninitialised
// array: tile
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform

struct Sample {
    char weight;
    float value;
    short offset;
};

extern "C" __global__ void structure_member_never_set(float* y, const float* x)
{
    __shared__ Sample tile[64], turned[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t].weight = 2;
    tile[t].value = x[i];
    __syncthreads();
    turned[t] = tile[63 - t]; // <- here
    const Sample other = turned[t];
    y[i] = other.weight * other.value + other.offset;
}
