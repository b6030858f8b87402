// im2col_column_count.cu -- WRONG ON PURPOSE: the columns of im2col are counted for the input's size, not the output's
//
// fault: out-of-bounds
// array: columns
// launch: grid=2 block=64
// arguments: out float columns 9x80; in float x 10x12 uniform; int height=10; int width=12

#define K 3

extern "C" __global__ void im2col_column_count(float* columns, const float* x, int height, int width)
{
    const int out_height = height - K + 1, out_width = width - K + 1;
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < out_height * out_width) {
        const int h = t / out_width, w = t % out_width;
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                const int row = p * K + q;
                columns[row * height * width + t] = x[(h + p) * width + w + q]; // <- here
            }
        }
    }
}
