// signed_countdown.cu -- a signed counter that counts down to zero
//
// twin: unsigned_countdown
// launch: grid=1 block=32
// arguments: out int y 32x10; int n=10
// result: y = np.tile(np.arange(10), (32, 1))

extern "C" __global__ void signed_countdown(int* y, int n)
{
    int* row = y + threadIdx.x * n;
    for (int k = n - 1; k >= 0; --k) {
        row[k] = k;
    }
}
