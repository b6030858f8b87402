// left_neighbour_guarded.cu -- differences with the left neighbour; the first cell has none
//
// twin: left_neighbour
// launch: grid=4 block=256
// arguments: out float y 1000; in float x 1000 uniform; int n=1000
// result: y = np.diff(x, prepend=np.float32(0))

extern "C" __global__ void left_neighbour_guarded(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float left = i > 0 ? x[i - 1] : 0.0f;
        y[i] = x[i] - left;
    }
}
