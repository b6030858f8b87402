// wave_double.cu -- the wave equation in doubles, pairs of cells by double2, tile with borders
#define W 32
extern "C" __global__ void wave_double(double2* next, const double2* now, const double2* before,
                                       int n2, double c)
{
    __shared__ double s[2 * W + 2];
    int i = blockIdx.x * W + threadIdx.x;
    double2 v = make_double2(0, 0);
    if (i < n2) v = now[i];
    s[1 + 2 * threadIdx.x] = v.x;
    s[2 + 2 * threadIdx.x] = v.y;
    if (threadIdx.x == 0) s[0] = i > 0 ? now[i - 1].y : 0.0;
    if (threadIdx.x == W - 1) s[2 * W + 1] = i + 1 < n2 ? now[i + 1].x : 0.0;
    __syncthreads();
    if (i >= n2) return;
    double2 old = before[i], r;
    r.x = 2 * v.x - old.x + c * (s[2 * threadIdx.x] - 2 * v.x + v.y);
    r.y = 2 * v.y - old.y + c * (v.x - 2 * v.y + s[2 * threadIdx.x + 3]);
    next[i] = r;
}
