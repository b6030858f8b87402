// rgb_to_grey.cu -- three single bytes a pixel
extern "C" __global__ void rgb_to_grey(unsigned char* grey, const unsigned char* rgb, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) grey[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
}
