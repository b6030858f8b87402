// uncoalesced_rows.cu -- threadIdx.x runs along the rows (course report C): 2.6 times slower, not wrong
//
// launch: grid=2x2 block=16x16
// arguments: out float y 30x20; in float x 30x20 uniform; int height=30; int width=20
// result: y = x * x

extern "C" __global__ void uncoalesced_rows(float* y, const float* x, int height, int width)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && col < width) {
        y[row * width + col] = x[row * width + col] * x[row * width + col];
    }
}
