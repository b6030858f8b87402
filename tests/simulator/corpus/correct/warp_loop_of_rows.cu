// warp_loop_of_rows.cu -- one warp a row, several rows a warp: loops of unequal length with shuffles inside
//
// launch: grid=1 block=64
// arguments: out int y 5; in int x 5x40 below=100; int rows=5; int width=40
// result: y = x.sum(axis=1)

extern "C" __global__ void warp_loop_of_rows(int* y, const int* x, int rows, int width)
{
    const int lane = threadIdx.x % 32;
    for (int row = threadIdx.x / 32; row < rows; row += blockDim.x / 32) {
        int sum = 0;
        for (int k = lane; k < width; k += 32) {
            sum += x[row * width + k];
        }
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, step);
        }
        if (lane == 0) {
            y[row] = sum;
        }
    }
}
