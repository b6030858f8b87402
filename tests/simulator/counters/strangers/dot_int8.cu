// dot_int8.cu -- products of rows of signed bytes by __dp4a, four words at a time
extern "C" __global__ void dot_int8(int* c, const int4* a, const int4* b, int rows, int columns,
                                    int words4)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    int sum = 0;
    for (int k = 0; k < words4; k++) {
        int4 p = a[row * words4 + k], q = b[column * words4 + k];
        sum = __dp4a(p.x, q.x, sum);
        sum = __dp4a(p.y, q.y, sum);
        sum = __dp4a(p.z, q.z, sum);
        sum = __dp4a(p.w, q.w, sum);
    }
    c[row * columns + column] = sum;
}
