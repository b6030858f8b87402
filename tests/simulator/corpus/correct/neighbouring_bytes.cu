// neighbouring_bytes.cu -- four threads write the four bytes of one word: different cells, no race
//
// launch: grid=1 block=128
// arguments: out uint8 y 128; in uint8 x 128 below=200
// result: y = (x + 1)[::-1]

extern "C" __global__ void neighbouring_bytes(unsigned char* y, const unsigned char* x)
{
    __shared__ unsigned char cells[128];
    const int t = threadIdx.x;
    cells[t] = x[t] + 1;
    __syncthreads();
    y[t] = cells[127 - t];
}
