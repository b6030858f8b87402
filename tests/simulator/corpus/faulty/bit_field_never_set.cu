// bit_field_never_set.cu -- WRONG ON PURPOSE: a bit field is read that nothing has set, beside one that is set
//
// fault: uninitialised
// array: tile
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=200

struct Pixel {
    unsigned kind : 3;
    unsigned value : 9;
    unsigned char tag;
};

extern "C" __global__ void bit_field_never_set(int* y, const int* x)
{
    __shared__ Pixel tile[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t].value = x[i];
    tile[t].tag = 5;
    __syncthreads();
    const Pixel pixel = tile[63 - t]; // <- here
    y[i] = pixel.kind + pixel.value * pixel.tag;
}
