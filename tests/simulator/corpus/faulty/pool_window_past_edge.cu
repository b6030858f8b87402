// pool_window_past_edge.cu -- WRONG ON PURPOSE: with ceil the last pooling window is cut by the edge, but the loop reads it
//     whole
//
// fault: out-of-bounds
// array: x
// launch: grid=1 block=16x16
// arguments: out float y 9x9; in float x 34x34 uniform; int size=34; int pooled=9

extern "C" __global__ void pool_window_past_edge(float* y, const float* x, int size, int pooled)
{
    const int row = threadIdx.y, col = threadIdx.x;
    if (row < pooled && col < pooled) {
        float most = -INFINITY;
        for (int r = 4 * row; r < 4 * row + 4; ++r) {
            for (int c = 4 * col; c < min(4 * col + 4, size); ++c) {
                most = fmaxf(most, x[r * size + c]); // <- here
            }
        }
        y[row * pooled + col] = most;
    }
}
