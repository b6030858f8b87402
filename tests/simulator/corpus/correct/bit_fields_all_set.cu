// bit_fields_all_set.cu -- two bit fields of one word: the store to the first reads the word before anything is in it
//
// twin: bit_field_never_set
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=200
// result: y = np.arange(128) % 8 + 5 * x[np.arange(128) ^ 63]

struct Pixel {
    unsigned kind : 3;
    unsigned value : 9;
    unsigned char tag;
};

extern "C" __global__ void bit_fields_all_set(int* y, const int* x)
{
    __shared__ Pixel tile[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t].kind = 7 - t % 8;
    tile[t].value = x[i];
    tile[t].tag = 5;
    __syncthreads();
    const Pixel pixel = tile[63 - t];
    y[i] = pixel.kind + pixel.value * pixel.tag;
}
